import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { readAnswer, readQuestion, type TurnText } from '../../platform/json/turn-text.js';
import { printDecimals } from '../../platform/json/decimal.js';
import type { Sql } from '../../platform/query/sql.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import {
  callDocuments,
  type CallDocuments,
  type TurnCall,
  turnCalls,
  firstLastCalls,
} from './turn-texts.query.js';
import { MAX_TEXT, type TurnTextsDto } from './threads.dto.js';

/**
 * Limits of one turn: number of its calls that are listed, and number of calls whose documents are read for its
 * question or answer.
 */
const MAX_TURN_CALLS = 500;
const MAX_READ_CALLS = 64;
/** Larger documents are skipped. */
const MAX_DOCUMENT_BYTES = 256 * 1024;
const CALLS_AT_ONCE = 4;
const TURNS_AT_ONCE = 20;

interface CallText extends TurnText {
  call_id: string;
  is_cut: boolean;
}

/** The question and the answer of a turn. Null if neither the turn nor a call below it contains one. */
export interface TurnTexts {
  question: CallText | null;
  answer: CallText | null;
}

const NEITHER: TurnTexts = { question: null, answer: null };

/**
 * Finds questions and answers of turns. Some frameworks record them not on the span of the turn, but on spans below.
 * Then the first question and the last answer below count. It reads a limited number of calls, which indexes find.
 */
@Injectable()
export class TurnTextsService {
  constructor(private readonly database: Database) {}

  /** Returns the texts of turns in the order of `turn_ids`, as JSON text. Unknown turns have null texts. */
  async query({ project_id, turn_ids }: TurnTextsDto): Promise<string> {
    const found = await this.find(project_id, turn_ids);
    const turns = turn_ids.map((turn_id) => ({ turn_id, ...(found.get(turn_id) ?? NEITHER) }));
    return printDecimals({ turns });
  }

  /** Returns the texts of turns, keyed by the ids of the turns. */
  async find(projectId: string, turnIds: readonly string[]): Promise<Map<string, TurnTexts>> {
    const found = new Map<string, TurnTexts>();
    const ids = [...new Set(turnIds)];
    for (let from = 0; from < ids.length; from += TURNS_AT_ONCE)
      for (const [id, calls] of await this.calls(projectId, ids.slice(from, from + TURNS_AT_ONCE)))
        found.set(id, {
          question: await this.text(projectId, inOrder(calls, isEarlier), readQuestion),
          answer: await this.text(projectId, inOrder(calls, isLater), readAnswer),
        });
    return found;
  }

  private async calls(projectId: string, ids: readonly string[]): Promise<Map<string, TurnCall[]>> {
    const calls = new Map<string, TurnCall[]>();
    const rows = await this.rows(turnCalls(projectId, ids, MAX_TURN_CALLS));
    for (const row of rows) {
      const some = calls.get(row.turn_id);
      if (some) some.push(row);
      else calls.set(row.turn_id, [row]);
    }
    for (const [id, some] of calls) {
      if (some.length < MAX_TURN_CALLS) continue;
      const known = new Set(some.map((call) => call.id));
      for (const call of await this.rows(firstLastCalls(projectId, id, MAX_TURN_CALLS))) {
        if (!known.has(call.id)) some.push(call);
        known.add(call.id);
      }
    }
    return calls;
  }

  /** Returns the first text that is a message. If no call has one, returns the best text of all calls that are read. */
  private async text(
    projectId: string,
    calls: readonly TurnCall[],
    read: typeof readAnswer,
  ): Promise<CallText | null> {
    const turn = new EventLoopTurn();
    let best: CallText | null = null;
    for (let from = 0; from < Math.min(calls.length, MAX_READ_CALLS); from += CALLS_AT_ONCE) {
      const some = calls.slice(from, from + CALLS_AT_ONCE);
      const ids = some.map(({ id }) => id);
      const rows = await this.rows(callDocuments(projectId, ids, MAX_DOCUMENT_BYTES));
      const documents = new Map(rows.map((row) => [row.id, row]));
      for (const call of some) {
        if (turn.isOver) await turn.next();
        const said = textOf(call, documents.get(call.id), read);
        if (!said) continue;
        if (!best || RANK[said.kind] < RANK[best.kind]) best = said;
        // the call of the turn itself has priority over all calls below
        if (call.depth === 0 || said.kind === 'chat') return best;
      }
    }
    return best;
  }

  /** Runs a query in a slot for long queries, because the time depends on the sizes of clients' documents. */
  private rows<Row>(query: Sql<Row>): Promise<Row[]> {
    return this.database.query(query, { long: 'read' });
  }
}

const RANK = { chat: 0, plain: 1, data: 2 };
/** Operations that produce no text for the user. */
const TOOLS = new Set([
  'execute_tool',
  'retrieval',
  'embeddings',
  'reranker',
  'guardrail',
  'evaluator',
  'event',
]);

const parsed = (text: CallDocuments['inputs']): unknown =>
  text === null ? null : JSON.parse(text);

/** Cuts a long text, without half of a surrogate pair at its end. */
const cut = (text: string) =>
  text.length > MAX_TEXT ? text.slice(0, MAX_TEXT).replace(/[\uD800-\uDBFF]$/, '') : text;

/**
 * Returns the text of a call. A tool contains no message of the model, although some tools spell their output like one.
 */
function textOf(
  { id, operation }: TurnCall,
  documents: CallDocuments | undefined,
  read: typeof readAnswer,
): CallText | undefined {
  const said = documents && read(parsed(documents.inputs), parsed(documents.output));
  if (!said) return undefined;
  const { kind, role, text } = said;
  const isOfTool = kind === 'chat' && TOOLS.has(operation ?? '');
  const is_cut = text.length > MAX_TEXT;
  return {
    call_id: id,
    kind: isOfTool ? 'plain' : kind,
    role,
    text: cut(text),
    is_cut,
  };
}

/** Returns the calls that may contain a text: the turn's own call first, tools last. */
const inOrder = (calls: readonly TurnCall[], order: (a: TurnCall, b: TurnCall) => number) => {
  const rank = ({ depth, operation }: TurnCall) =>
    depth === 0 ? 0 : TOOLS.has(operation ?? '') ? 2 : 1;
  return calls
    .filter(({ has_inputs, has_output }) => has_inputs || has_output)
    .toSorted((a, b) => rank(a) - rank(b) || order(a, b));
};

/** Orders by start. A call that began at the same time as its parent comes after it. */
const isEarlier = (a: TurnCall, b: TurnCall): number =>
  Number(a.started_at) - Number(b.started_at) || a.depth - b.depth || (a.id < b.id ? -1 : 1);

/**
 * Orders by end, the latest first. A call that ended at the same time as its parent comes after it. Running calls come
 * last.
 */
const isLater = (a: TurnCall, b: TurnCall): number =>
  Number(b.ended_at ?? 0) - Number(a.ended_at ?? 0) || a.depth - b.depth || (a.id < b.id ? 1 : -1);
