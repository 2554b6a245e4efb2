import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import type { Context } from '../../../platform/http/context.js';
import { DocumentReader } from '../../../platform/http/document-reader.js';
import { searchableTexts } from '../../../platform/json/searchable-text.js';
import type { AgentSearchAnswerDto } from './agents.answers.dto.js';
import type { AgentSearchDto } from './agents.dto.js';
import type { SpanMessage } from './span-messages.js';
import { MAX_SEARCHED, searchedSpans } from './search.query.js';
import { NO_CONVERSATION } from './span-fields.js';
import { spanMessages, fieldsOf } from './span-row.js';
import type { SpanSourceCall } from './spans.query.js';

const PREVIEW = 500;
/** Limits in characters: one message that is not shortened, and all messages of an answer. */
const MAX_CONTENT = 1024 * 1024;
const MAX_ANSWER = 16 * 1024 * 1024;
const SPANS_AT_ONCE = 64;

type ConversationResult = AgentSearchAnswerDto['results'][number];
type MessageResult = ConversationResult['matched_messages'][number];

interface MessageMatch extends MessageResult {
  conversation_id: string;
  conversation_name: string;
  agent_name: string;
}

@Injectable()
export class SearchService {
  constructor(private readonly database: Database) {}

  async search(asked: AgentSearchDto, context: Context): Promise<AgentSearchAnswerDto> {
    const limit = asked.limit ?? 20;
    const matches = await this.matches(asked, (asked.offset ?? 0) + limit, context);
    const byConversation = new Map<string, ConversationResult>();
    for (const match of matches.slice(asked.offset ?? 0)) {
      const { conversation_id, conversation_name, agent_name, ...message } = match;
      let found = byConversation.get(conversation_id);
      if (!found)
        byConversation.set(
          conversation_id,
          (found = {
            conversation_id,
            conversation_name,
            agent_name,
            last_activity: message.started_at,
            matched_messages: [],
          }),
        );
      found.matched_messages.push(message);
      if (message.started_at > found.last_activity) found.last_activity = message.started_at;
      found.conversation_name ||= conversation_name;
      found.agent_name ||= agent_name;
    }
    const results = [...byConversation.values()];
    return { results, total_conversations: results.length };
  }

  /**
   * Finds at most `most` messages. A message counts once per conversation, for the earliest span that has it, since
   * later spans repeat it.
   */
  private async matches(
    asked: AgentSearchDto,
    most: number,
    { hold }: Context,
  ): Promise<MessageMatch[]> {
    const matches = new MessageMatches(
      most,
      asked.truncate_content === false ? MAX_CONTENT : PREVIEW,
    );
    const documents = new DocumentReader(hold);
    const looks = messageFilter(asked);
    const batches = await this.database.stream(searchedSpans(asked, MAX_SEARCHED), {
      maxBatch: SPANS_AT_ONCE,
    });
    for await (const batch of batches as AsyncIterable<string[]>)
      for (const json of batch) {
        const row = await documents.read<SpanSourceCall>(json);
        for (const message of searchableMessages(row).filter(looks)) matches.add(row, message);
      }
    return matches.all;
  }
}

/**
 * Collects messages, keyed by conversation and content. When it is full, known messages are still replaced by earlier
 * spans.
 */
class MessageMatches {
  private readonly found = new Map<string, MessageMatch>();
  private characters = 0;

  constructor(
    private readonly most: number,
    private readonly shownLength: number,
  ) {}

  get all(): MessageMatch[] {
    return [...this.found.values()];
  }

  private get isFull(): boolean {
    return this.found.size >= this.most || this.characters > MAX_ANSWER;
  }

  add(row: SpanSourceCall, { role, content }: SearchableMessage): void {
    const content_digest = createHash('sha256').update(`${role}\n${content}`).digest('hex');
    const conversation_id = row.thread_id || NO_CONVERSATION;
    const key = `${conversation_id}\n${content_digest}`;
    const length = Math.min(content.length, this.shownLength);
    if (!this.found.has(key)) {
      if (this.isFull) return;
      this.characters += length;
    }
    const content_preview = length < content.length ? copyOf(content.slice(0, length)) : content;
    const conversation_name = (fieldsOf(row)['conversation_name'] as string | null) ?? '';
    this.found.set(key, {
      conversation_id,
      conversation_name,
      agent_name: row.agent_name ?? '',
      span_id: row.id,
      trace_id: row.trace_id,
      role,
      content_preview,
      content_digest,
      started_at: row.started_at,
    });
  }
}

/** Copies a text: a slice would keep the whole original in memory. */
const copyOf = (text: string) => Buffer.from(text, 'utf16le').toString('utf16le');

type SearchableMessage = Pick<SpanMessage, 'role' | 'content'>;

function messageFilter({ query, roles }: AgentSearchDto) {
  const wanted = (query ?? '').toLowerCase();
  return ({ role, content }: SearchableMessage) =>
    content !== '' &&
    (!roles?.length || roles.includes(role)) &&
    (wanted === '' || containsText(wanted, content));
}

/** Returns true when a message contains the lower-case text, in any spelling. */
function containsText(wanted: string, content: string): boolean {
  for (const text of searchableTexts(content)) if (text.toLowerCase().includes(wanted)) return true;
  return false;
}

/** Returns everything in a span that can be searched: its messages, and the arguments and results of tools. */
function searchableMessages(row: SpanSourceCall): SearchableMessage[] {
  const contents = spanMessages(row);
  return [
    ...contents.system_instructions.map((content) => ({ role: 'system', content })),
    ...contents.input_messages,
    ...contents.output_messages,
    { role: 'tool_call', content: contents.tool_call_arguments ?? '' },
    { role: 'tool_result', content: contents.tool_call_result ?? '' },
  ];
}
