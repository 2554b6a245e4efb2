import type { Role } from '../../platform/roles.js';
import { memberTexts } from '../../platform/json/json-text.js';
import type { Context } from '../../platform/http/context.js';
import type { Dto } from '../../platform/http/validation.js';
import type { ToolAnswer, AnswerBudget } from './tool-answer.js';

/** The part of JSON Schema that describes an argument to models. */
export type ArgumentSchema = {
  type?: string;
  description?: string;
  enum?: string[];
  items?: { type?: string };
  minimum?: number;
  maximum?: number;
  maxItems?: number;
};

export interface ToolRequest {
  context: Context;
  budget: AnswerBudget;
  text: string;
}

export interface Tool<Arguments extends object = object> {
  name: string;
  description: string;
  role: Role;
  dto: Dto<Arguments>;
  /** The arguments that models see. The DTO accepts more. */
  shown: readonly (keyof Arguments & string)[];
  /** Replaces parts of the schema of these arguments. */
  described?: { [Name in keyof Arguments]?: ArgumentSchema };
  run(args: Arguments, asked: ToolRequest): Promise<ToolAnswer>;
}

/** Hides the type of the arguments, so that different tools fit into one list. */
export const tool = <Arguments extends object>(one: Tool<Arguments>): Tool =>
  one as unknown as Tool;

export const TOOLS = Symbol('tools');

export interface ToolSource {
  readonly tools: readonly Tool[];
}

export const NEWEST_FIRST: { field: 'created_at'; direction: 'desc' }[] = [
  { field: 'created_at', direction: 'desc' },
];

/** Rows of a page when the request sets no `limit`. */
const PAGE = 20;
export const MAX_PAGE = 100;
export const pageLimit = (limit: number | null | undefined): number =>
  Math.min(limit ?? PAGE, MAX_PAGE);

/** Returns the rows that fit into the budget, as the JSON text of `{"<name>":[…]}`, with words about their number. */
export async function toolPage(
  name: string,
  rows: AsyncIterable<string>,
  { budget }: ToolRequest,
  { limit, after }: Paging,
): Promise<ToolAnswer> {
  const taken: string[] = [];
  let isCut = false;
  for await (const row of rows) {
    isCut = !budget.takes(row);
    if (isCut) break;
    taken.push(row);
  }
  const last = taken.at(-1);
  if (isCut && last === undefined)
    return {
      words:
        'The first row alone is larger than max_tokens: ask for more tokens, or for fewer columns.',
    };
  const isMore = isCut || taken.length === limit;
  const next = isMore && last !== undefined ? after(last, taken.length) : '';
  return {
    words: `${taken.length} rows.${isMore ? ' There may be more: the recorded data ends with where to go on.' : ' These are all.'}`,
    recorded: `{"${name}":[${taken.join(',')}]${next}}`,
  };
}

interface Paging {
  limit: number;
  /**
   * Returns the position of the next page as the text of a member. It may hold recorded ids, so it belongs to the
   * recorded data.
   */
  after: (row: string, count: number) => string;
}

/** Returns the position of the next page of a list that is paged by `offset`. */
export const byOffset =
  (offset: number | null | undefined) =>
  (_: string, count: number): string =>
    `,"next_offset":${(offset ?? 0) + count}`;

/** Returns the position of the next page of a list that is paged by `after`: these members of the last row. */
export const byMembers =
  (...names: string[]) =>
  (row: string): string => {
    const members = memberTexts(row);
    return `,"next_after":[${names.map((name) => members.get(name) ?? 'null').join(',')}]`;
  };
