import { Injectable } from '@nestjs/common';
import { ApiError } from '../../platform/errors.js';
import { isBlank } from '../../platform/json/chat.js';
import { memberTexts } from '../../platform/json/json-text.js';
import { productionFilter } from '../../tracing/production-filter.js';
import { CallLists } from '../../tracing/calls/read/call-lists.service.js';
import { ThreadsService } from '../../tracing/threads/threads.service.js';
import { type TurnTexts, TurnTextsService } from '../../tracing/threads/turn-texts.service.js';
import { callPartMembers } from './calls.tools.js';
import { ListThreadsToolDto, ReadThreadToolDto } from './mcp.dto.js';
import type { ToolAnswer, AnswerBudget } from './tool-answer.js';
import {
  type ToolRequest,
  byMembers,
  byOffset,
  toolPage,
  pageLimit,
  tool,
  type ToolSource,
} from './tool.js';

/** Minimum number of bytes for each turn of an answer. */
const LEAST_TURN_BYTES = 600;
/** Maximum size of the turns that are held in memory before the bytes of the answer are divided among them. */
const MAX_HELD = 8 * 1024 * 1024;

@Injectable()
export class ThreadTools implements ToolSource {
  constructor(
    private readonly threads: ThreadsService,
    private readonly lists: CallLists,
    private readonly texts: TurnTextsService,
  ) {}

  readonly tools = [
    tool({
      name: 'list_threads',
      description:
        'Conversations of production, or of filter.sources (an empty list for all), with turn counts, times and p50/p99 turn durations, by default the last updated first. filter: after_datetime, before_datetime, thread_ids, sources; sort_by: turn_count, last_updated, p99_turn_duration_ms …',
      role: 'reader',
      dto: ListThreadsToolDto,
      shown: ['project_id', 'filter', 'sort_by', 'limit', 'after', 'offset', 'max_tokens'],
      run: (args, asked) => this.list(args, asked),
    }),
    tool({
      name: 'read_thread',
      description:
        'The turns of a thread from the first on: who asked what, and what was answered; question and answer come from the calls below a turn that says nothing itself. Long texts are cut: read_call has the rest.',
      role: 'reader',
      dto: ReadThreadToolDto,
      shown: ['project_id', 'thread_id', 'after', 'max_tokens'],
      run: (args, asked) => this.read(args, asked),
    }),
  ];

  private async list(args: ListThreadsToolDto, asked: ToolRequest): Promise<ToolAnswer> {
    const limit = pageLimit(args.limit);
    const query = Object.assign({}, args, { limit, filter: productionFilter(args.filter) });
    const rows = asked.budget.texts(await this.threads.stream(query));
    const after = args.sort_by ? byOffset(args.offset) : byMembers('last_updated', 'thread_id');
    return toolPage('threads', rows, asked, { limit, after });
  }

  private async read(args: ReadThreadToolDto, { budget }: ToolRequest): Promise<ToolAnswer> {
    const { project_id, thread_id, after } = args;
    const limit = Math.max(1, Math.floor(budget.left / LEAST_TURN_BYTES));
    const stream = await this.lists.stream({
      project_id,
      filter: { thread_ids: [thread_id] },
      query: { $expr: { $eq: [{ $getField: 'id' }, { $getField: 'turn_id' }] } },
      columns: ['op_name', 'ended_at', 'exception', 'inputs', 'output'],
      limit,
      after: after ?? null,
    });
    const { turns, isMore } = await takeTurns(budget.texts(stream), limit);
    if (turns.length === 0 && !after)
      throw new ApiError('not_found', 'no thread with this id has turns in the project');
    const shown = turns.map((turn) => memberTexts(turn));
    const silent = shown.filter(
      (texts) => isBlankDocument(texts, 'inputs') || isBlankDocument(texts, 'output'),
    );
    const ids = silent.map((texts) => JSON.parse(texts.get('id')!) as string);
    const found = await this.texts.find(project_id, ids);
    budget.assertInTime();
    const next = isMore ? byMembers('started_at', 'id')(turns.at(-1)!) : '';
    return {
      words: `${turns.length} turns.${isMore ? ' There may be more: ask again with after, which is next_after at the end of the recorded data.' : ' These are all.'}`,
      recorded: `{"turns":[${shownTurns(shown, found, budget)}]${next}}`,
    };
  }
}

async function takeTurns(rows: AsyncIterable<string>, limit: number) {
  const turns: string[] = [];
  let length = 0;
  for await (const row of rows) {
    length += row.length;
    if (length > MAX_HELD && turns.length > 0) return { turns, isMore: true };
    turns.push(row);
  }
  return { turns, isMore: turns.length === limit };
}

const FACTS = ['id', 'trace_id', 'op_name', 'started_at', 'ended_at'];

/** Texts that replace empty documents of a turn. */
const TEXT_FALLBACKS = [
  ['inputs', 'question'],
  ['output', 'answer'],
] as const;
/** A document with more characters is not parsed: it is never blank. */
const MOST_BLANK = 1000;

function isBlankDocument(texts: ReadonlyMap<string, string>, name: 'inputs' | 'output'): boolean {
  const text = texts.get(name)!;
  return text.length <= MOST_BLANK && isBlank(JSON.parse(text));
}

function shownTurns(
  turns: readonly ReadonlyMap<string, string>[],
  found: ReadonlyMap<string, TurnTexts>,
  budget: AnswerBudget,
): string {
  return turns
    .map((turn, i) => {
      const texts = new Map(turn);
      const said = found.get(JSON.parse(turn.get('id')!) as string);
      for (const [document, side] of TEXT_FALLBACKS)
        if (said?.[side] && isBlankDocument(turn, document))
          texts.set(side, JSON.stringify(said[side]));
      const facts = FACTS.map((name) => `"${name}":${texts.get(name)}`).join(',');
      const room = Math.floor(budget.left / (turns.length - i)) - Buffer.byteLength(facts) - 8;
      const parts = ['inputs', 'question', 'output', 'answer', 'exception'].filter(
        (name) => (texts.get(name) ?? 'null') !== 'null',
      );
      const row = `{${facts},${callPartMembers(parts, texts, room)}}`;
      budget.left -= Buffer.byteLength(row) + 2;
      return row;
    })
    .join(',\n');
}
