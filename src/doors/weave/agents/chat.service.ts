import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { ApiError } from '../../../platform/errors.js';
import type { Context } from '../../../platform/http/context.js';
import { DocumentReader } from '../../../platform/http/document-reader.js';
import { type Decimal, printDecimals } from '../../../platform/json/decimal.js';
import { mapYielding } from '../../../platform/time/event-loop-turn.js';
import { checkedRows } from '../../../tracing/bounded-rows.js';
import type { ConversationChatDto, ConversationSpansDto, TraceChatDto } from './agents.dto.js';
import { AgentFeedback } from './agent-feedback.js';
import { sumKnown } from './span-row.js';
import {
  type ConversationSpan,
  conversationSpans,
  type SpanSourceCall,
  traceCalls,
  traceSize,
  turnsQuery,
} from './spans.query.js';
import { type ChatTurn, chatTurn } from './chat-turn.js';

/** Limits of all turns in one answer: calls, and bytes of their documents. */
export const MAX_TURN_CALLS = 10_000;
export const MAX_TURN_BYTES = 64 * 1024 * 1024;
/** Spans of all conversations in one answer. */
export const MAX_SPANS = 100_000;
const CALLS_AT_ONCE = 64;

interface TurnBudget {
  calls: number;
  bytes: number;
}

@Injectable()
export class ChatService {
  private readonly feedback: AgentFeedback;

  constructor(private readonly database: Database) {
    this.feedback = new AgentFeedback(database);
  }

  /**
   * Returns a trace as a chat, as JSON text.
   * @throws ApiError `not_found`
   */
  async trace(asked: TraceChatDto, context: Context): Promise<string> {
    const room = { calls: MAX_TURN_CALLS, bytes: MAX_TURN_BYTES };
    const shown = await this.turn(asked, asked.trace_id, room, context);
    if (!shown) throw new ApiError('not_found', `there is no trace ${asked.trace_id}`);
    if (!shown.isOfAgents)
      throw new ApiError(
        'not_found',
        `no call of the trace ${asked.trace_id} is a call of an agent, a model or a tool (operation): read the trace with /calls/query`,
      );
    return printedTurn(shown.turn);
  }

  /** Returns a page of the turns of a conversation, as JSON text. The first page has the newest turns. */
  async conversation(asked: ConversationChatDto, context: Context): Promise<string> {
    const { project_id, conversation_id } = asked;
    const limit = asked.limit ?? 50;
    const offset = asked.offset ?? 0;
    const [first, rows] = await this.database.transaction({ long: 'read' }, async () => [
      await this.database.query(turnsQuery(project_id, conversation_id, { limit: 1, offset: 0 })),
      await this.database.query(turnsQuery(project_id, conversation_id, { limit, offset })),
    ]);
    const room = { calls: MAX_TURN_CALLS, bytes: MAX_TURN_BYTES };
    const turns: string[] = [];
    const costs: (Decimal | null)[] = [];
    for (const { turn } of rows.toReversed()) {
      const shown = await this.turn(asked, turn, room, context);
      if (!shown) continue;
      turns.push(await printedTurn(shown.turn));
      costs.push(shown.cost);
    }
    const total_turns = first[0]?.total ?? 0;
    const frame = printDecimals({
      conversation_id,
      total_turns,
      has_more: offset + rows.length < total_turns,
      limit,
      offset,
      total_cost_usd: sumKnown(costs),
      feedback: asked.include_feedback
        ? await this.feedback.onConversation(project_id, conversation_id, context)
        : null,
    });
    return withList(frame, 'turns', turns);
  }

  /**
   * Returns the spans of conversations without their documents, and the feedback on them and on their turns, as JSON
   * text.
   */
  async conversations(asked: ConversationSpansDto): Promise<string> {
    const ids = [...new Set(asked.conversation_ids)];
    const spans = ids.map((): string[] => []);
    const traces = new Map<string, string>();
    for await (const { place, ...span } of this.spansOf(asked, ids)) {
      spans[place - 1]!.push(printDecimals(span));
      traces.set(span.trace_id, ids[place - 1]!);
    }
    const feedback = await this.feedback.onSpans(asked.project_id, ids, traces);
    const shown = await mapYielding(ids, (conversation_id, i) =>
      withList(
        printDecimals({ conversation_id, spans_feedback: feedback.get(conversation_id) ?? [] }),
        'spans',
        spans[i]!,
      ),
    );
    return `{"conversations":[${shown.join(',')}]}`;
  }

  /**
   * Reads the spans of conversations.
   * @throws ApiError `too_large`
   */
  private spansOf(
    asked: ConversationSpansDto,
    ids: readonly string[],
  ): AsyncIterable<ConversationSpan> {
    let count = 0;
    return checkedRows(this.database, conversationSpans(asked, ids, MAX_SPANS + 1), () => {
      if (++count > MAX_SPANS)
        throw new ApiError(
          'too_large',
          `the conversations have over ${MAX_SPANS} spans: ask for fewer of them, or for less time`,
        );
    });
  }

  private async turn(
    asked: TraceChatDto | ConversationChatDto,
    traceId: string,
    room: TurnBudget,
    context: Context,
  ) {
    const { project_id, include_feedback, include_model_tool_calls } = asked;
    const [size] = await this.database.query(traceSize(project_id, traceId), { long: 'read' });
    const { calls, bytes } = size!;
    if (calls === 0) return null;
    room.calls -= calls;
    room.bytes -= bytes;
    if (room.calls < 0 || room.bytes < 0)
      throw new ApiError(
        'too_large',
        `the calls are over ${MAX_TURN_CALLS}, or over ${MAX_TURN_BYTES} bytes: ask for fewer turns at once`,
      );
    const details = { project_id, hasDocuments: true, hasCosts: true };
    const texts: string[] = [];
    const batches = await this.database.stream(traceCalls(details, traceId, MAX_TURN_CALLS), {
      maxBatch: CALLS_AT_ONCE,
    });
    for await (const batch of batches as AsyncIterable<string[]>) texts.push(...batch);
    const rows = await new DocumentReader(context.hold).keep<SpanSourceCall>(texts);
    if (rows.length === 0) return null;
    const shown = await chatTurn(rows, include_model_tool_calls === true);
    if (include_feedback) await this.feedback.addTo(project_id, shown.turn, context);
    return shown;
  }
}

/** Returns a turn as JSON text. Its messages may have 64 MiB, so printing yields to other requests. */
async function printedTurn({ messages, ...turn }: ChatTurn['turn']): Promise<string> {
  return withList(printDecimals(turn), 'messages', await mapYielding(messages, printDecimals));
}

/** Appends a list of JSON texts to the JSON text of an object, which must have members. */
const withList = (object: string, name: string, texts: readonly string[]) =>
  `${object.slice(0, -1)},"${name}":[${texts.join(',')}]}`;
