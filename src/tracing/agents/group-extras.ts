import { ApiError } from '../../platform/errors.js';
import type { Database } from '../../platform/database/database.js';
import type { Decimal } from '../../platform/json/decimal.js';
import type { Sql } from '../../platform/query/sql.js';
import { Turn } from '../../platform/time/turn.js';
import type { CostsService } from '../costs/costs.service.js';
import type { ReadMessage } from './messages.js';
import { costedSpans, edgeSpans } from './group-extras.query.js';
import type { GroupRef, GroupRow, GroupsWanted } from './span-groups.query.js';
import { contentsOf, costsOf, total } from './span-row.js';
import type { SpanCall } from './spans.query.js';

/** Spans whose costs are added up for one answer. */
export const MAX_COSTED = 100_000;
/** Conversations whose first and last message are looked for. */
const MAX_EDGES = 200;
const SPANS_AT_ONCE = 64;
const PREVIEW = 500;

export interface GroupCost {
  input: Decimal | null;
  output: Decimal | null;
  total: Decimal | null;
}

interface CostedSpan {
  keys: (string | null)[];
  span: SpanCall;
}

/** What the spans of groups cost, by their keys as JSON. @throws ApiError `too_large` */
export async function groupCosts(
  database: Database,
  costs: CostsService,
  asked: GroupsWanted,
  more: Sql | null,
): Promise<Map<string, GroupCost>> {
  const query = costedSpans(asked, more, MAX_COSTED + 1);
  return addedCosts(database, costs, query);
}

/** Adds up the costs of spans, each of which a row has beside the keys of its group. @throws ApiError `too_large` */
export async function addedCosts(
  database: Database,
  costs: CostsService,
  query: Sql,
): Promise<Map<string, GroupCost>> {
  const sums = new Map<string, GroupCost>();
  const turn = new Turn();
  let count = 0;
  const batches = await database.stream(query, { maxBatch: 1000 });
  for await (const batch of batches as AsyncIterable<string[]>)
    for (const json of batch) {
      if (++count > MAX_COSTED)
        throw new ApiError(
          'too_large',
          `there are over ${MAX_COSTED} spans with costs: ask for less time, or without include_costs`,
        );
      if (turn.isOver) await turn.next();
      const { keys, span } = JSON.parse(json) as CostedSpan;
      const key = JSON.stringify(keys);
      const own = costsOf(costs, span);
      const sum = sums.get(key);
      sums.set(key, {
        input: total([sum?.input ?? null, own.input]),
        output: total([sum?.output ?? null, own.output]),
        total: total([sum?.total ?? null, own.total]),
      });
    }
  return sums;
}

interface Edge {
  role: 'user_message' | 'assistant_message';
  text: string;
}

export interface Edges {
  first: Edge | null;
  last: Edge | null;
}

/** The first and the last message of each group, where the groups are conversations. */
export async function groupMessages(
  database: Database,
  projectId: string,
  groupBy: readonly GroupRef[],
  rows: readonly GroupRow[],
): Promise<Edges[]> {
  if (!areConversations(groupBy)) return [];
  const places = new Map(rows.slice(0, MAX_EDGES).map(({ keys }, i) => [keys[0], i]));
  const ids = [...places.keys()].filter((id) => typeof id === 'string');
  const edges = rows.map((): Edges => ({ first: null, last: null }));
  const turn = new Turn();
  const batches = await database.stream(edgeSpans(projectId, ids), {
    maxBatch: SPANS_AT_ONCE,
  });
  for await (const batch of batches as AsyncIterable<string[]>)
    for (const json of batch) {
      if (turn.isOver) await turn.next();
      const { id, is_first, span } = JSON.parse(json) as {
        id: string;
        is_first: boolean;
        span: SpanCall;
      };
      const edge = edges[places.get(id)!]!;
      if (is_first) edge.first = askedIn(span) ?? saidIn(span);
      else edge.last = saidIn(span) ?? askedIn(span);
    }
  return edges;
}

const areConversations = ([ref, ...more]: readonly GroupRef[]) =>
  more.length === 0 &&
  !ref!.source?.startsWith('custom') &&
  /(^|\.)conversation[._]id$/.test(ref!.key);

const askedIn = (span: SpanCall) =>
  preview(
    'user_message',
    contentsOf(span).input_messages.findLast(({ role, said }) => role === 'user' && said !== ''),
  );
const saidIn = (span: SpanCall) =>
  preview(
    'assistant_message',
    contentsOf(span).output_messages.findLast(({ said }) => said !== ''),
  );

const preview = (role: Edge['role'], message: ReadMessage | undefined): Edge | null =>
  message ? { role, text: message.said.trim().slice(0, PREVIEW) } : null;
