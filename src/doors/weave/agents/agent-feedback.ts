import type { Database } from '../../../platform/database/database.js';
import type { Context } from '../../../platform/http/context.js';
import { DocumentReader } from '../../../platform/http/document-reader.js';
import { spelledThreadIds } from '../../../platform/http/refs.js';
import { groupBy } from '../../../platform/query/grouping.js';
import type { ConversationsDto } from './agents.answers.dto.js';
import { feedbackOn, type FeedbackItem, signalsOn } from './agent-feedback.query.js';
import type { ChatTurn } from './chat-turn.js';

type SpansFeedback = ConversationsDto['conversations'][number]['spans_feedback'];

/** Pieces of feedback in one answer that has only tags and ratings. */
const MAX_SIGNALS = 10_000;
/** Items whose feedback one statement looks up, and characters of their ids. */
const ITEMS_AT_ONCE = 5000;
const LENGTH_AT_ONCE = 2 * 1024 * 1024;

const conversationItems = (id: string): FeedbackItem[] =>
  spelledThreadIds(id).map((spelled) => ({ kind: 'agent_conversation', id: spelled }));

/** An item of a conversation: one of its traces, or the conversation itself. */
interface ConversationItem {
  item: FeedbackItem;
  trace_id: string | null;
  conversation: string;
}

/** Yields items lazily: ids are long, and building ten thousand refs blocks the event loop for a second. */
function* listConversationItems(
  conversationIds: readonly string[],
  traces: ReadonlyMap<string, string>,
): Generator<ConversationItem> {
  for (const [trace_id, conversation] of traces)
    yield { item: { kind: 'agent_turn', id: trace_id }, trace_id, conversation };
  for (const conversation of conversationIds)
    for (const item of conversationItems(conversation))
      yield { item, trace_id: null, conversation };
}

function* itemBatches(wanted: Iterable<ConversationItem>): Generator<ConversationItem[]> {
  let part: ConversationItem[] = [];
  let length = 0;
  for (const one of wanted) {
    part.push(one);
    length += one.item.id.length;
    if (part.length < ITEMS_AT_ONCE && length < LENGTH_AT_ONCE) continue;
    yield part;
    part = [];
    length = 0;
  }
  if (part.length > 0) yield part;
}

export class AgentFeedback {
  constructor(private readonly database: Database) {}

  async onConversation(projectId: string, id: string, context: Context): Promise<object[]> {
    return (await this.on(projectId, conversationItems(id), context)).map(({ piece }) => piece);
  }

  /** Adds the feedback on a turn and on each of its messages. */
  async addTo(projectId: string, turn: ChatTurn['turn'], context: Context): Promise<void> {
    const turnItem: FeedbackItem = { kind: 'agent_turn', id: turn['trace_id'] as string };
    const spans = turn.messages.map(({ span_id }): FeedbackItem => ({
      kind: 'agent_span',
      id: span_id,
    }));
    const found = await this.on(projectId, [turnItem, ...spans], context);
    const byPlace = groupBy(found, ({ place }) => place);
    const feedbackAt = (place: number) => (byPlace.get(place) ?? []).map(({ piece }) => piece);
    turn['feedback'] = feedbackAt(0);
    for (const [i, message] of turn.messages.entries()) message['feedback'] = feedbackAt(i + 1);
  }

  private async on(projectId: string, items: readonly FeedbackItem[], { hold }: Context) {
    const rows = await this.database.query(feedbackOn(projectId, items), { long: 'read' });
    const texts = rows.map(({ json }) => json);
    const pieces = await new DocumentReader(hold).keep<{ place: number } & object>(texts);
    return pieces.map(({ place, ...piece }) => ({ place, piece }));
  }

  /**
   * Reads tags and ratings of conversations and of their traces, keyed by conversation. `traces` maps trace ids to
   * conversations.
   */
  async onSpans(
    projectId: string,
    conversationIds: readonly string[],
    traces: ReadonlyMap<string, string>,
  ): Promise<Map<string, SpansFeedback>> {
    const byConversation = new Map<string, SpansFeedback>();
    let left = MAX_SIGNALS;
    for (const part of itemBatches(listConversationItems(conversationIds, traces))) {
      if (left <= 0) break;
      const query = signalsOn(
        projectId,
        part.map(({ item }) => item),
        left,
      );
      const signals = await this.database.query(query, { long: 'read' });
      left -= signals.length;
      for (const { place, feedback_type, tags, ratings, reasons, confidences } of signals) {
        const { trace_id, conversation } = part[place]!;
        const list = byConversation.get(conversation) ?? [];
        byConversation.set(conversation, list);
        list.push({
          trace_id,
          feedback_type,
          tags: tags ?? [],
          ratings: Object.entries(ratings ?? {}).map(([name, value]) => ({
            name,
            value,
            reason: reasons?.[name] ?? null,
            confidence: confidences?.[name] ?? null,
          })),
        });
      }
    }
    return byConversation;
  }
}
