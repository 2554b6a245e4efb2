import { type CallRow } from '../api/calls.ts';
import { allLines, post, type Schema, send } from '../api/client.ts';
import { readPlainConversation } from '../../../src/platform/json/plain-conversation.ts';
import {
  isBlank,
  isQuestion,
  readOutputMessages,
  readChat,
  type ChatMessage,
} from '../../../src/platform/json/chat.ts';
import { parseLossless, type MessagePiece } from '../../../src/platform/json/chat-parts.ts';
import { indexJson } from '../json/json-indexer.ts';

export const PAGE = 20;
/** The most calls that are read below the turns of a page. */
const MOST_STEPS = 1000;

export interface ThreadTurn {
  call: CallRow;
  said: ChatMessage[];
  /** Number of messages before the user's last one, which are not shown. */
  earlier: number;
  /** The direct children of the turn's call, sorted by start. */
  steps: CallRow[];
}

export async function readTurns(
  project_id: string,
  threadId: string,
  after: string[] | undefined,
  signal: AbortSignal,
): Promise<ThreadTurn[]> {
  const body = {
    project_id,
    filter: { thread_ids: [threadId] },
    query: { $expr: { $eq: [{ $getField: 'id' }, { $getField: 'turn_id' }] } },
    sort_by: ['started_at', 'id'].map((field) => ({ field, direction: 'asc' })),
    limit: PAGE,
    columns: ['inputs', 'output', 'exception', 'ended_at', 'summary'],
    ...(after && { after }),
    include_costs: true,
  };
  const response = await send('POST', '/calls/stream_query', { body, signal });
  const lines = (await response.text()).split('\n').slice(0, -1);
  const turns = await Promise.all(lines.map((line) => readTurn(line, signal)));
  const ids = turns.map(({ call }) => call.id);
  const silent = turns.filter(({ lacks }) => lacks.length > 0).map(({ call }) => call.id);
  const [steps, found] = await Promise.all([
    stepsOf(project_id, ids, signal),
    textsBelow(project_id, silent, signal),
  ]);
  return turns.map(({ lacks, ...turn }) => ({
    ...turn,
    said: withTexts(turn.said, lacks, found.get(turn.call.id)),
    steps: steps.filter(
      ({ parent_id, trace_id }) => parent_id === turn.call.id && trace_id === turn.call.trace_id,
    ),
  }));
}

async function stepsOf(project_id: string, parent_ids: string[], signal: AbortSignal) {
  if (parent_ids.length === 0) return [];
  const request = {
    project_id,
    filter: { parent_ids },
    sort_by: ['started_at', 'id'].map((field) => ({ field, direction: 'asc' as const })),
    limit: MOST_STEPS,
    columns: ['parent_id', 'ended_at', 'exception', 'summary'],
  };
  return allLines('/calls/stream_query', request, signal);
}

type TurnTexts = Schema<'TurnTextDto'>;
type Side = 'question' | 'answer';

/** Reads the question and the answer from calls below turns whose own call lacks them, keyed by turn id. */
async function textsBelow(project_id: string, turn_ids: string[], signal: AbortSignal) {
  if (turn_ids.length === 0) return new Map<string, TurnTexts>();
  const { turns } = await post('/threads/turns/query', { project_id, turn_ids }, { signal });
  return new Map(turns.map((turn) => [turn.turn_id, turn]));
}

/** Adds a question before and an answer after the messages, when the turn lacks them and they were found below it. */
function withTexts(
  said: ChatMessage[],
  lacks: readonly Side[],
  found: TurnTexts | undefined,
): ChatMessage[] {
  const text = (side: Side): ChatMessage[] => {
    const one = lacks.includes(side) ? found?.[side] : null;
    if (!one) return [];
    const shown = one.is_cut ? `${one.text}…` : one.text;
    return [
      {
        role: one.role,
        pieces: [{ kind: one.kind === 'data' ? 'data' : 'text', name: '', text: shown }],
      },
    ];
  };
  const failed = said.filter(({ role }) => role === 'exception');
  const others = said.filter(({ role }) => role !== 'exception');
  return [...text('question'), ...others, ...text('answer'), ...failed];
}

/**
 * Reads a turn as a conversation, or as its documents when it is none. `lacks` lists the sides that its call does not
 * have.
 */
async function readTurn(
  line: string,
  signal: AbortSignal,
): Promise<Omit<ThreadTurn, 'steps'> & { lacks: Side[] }> {
  const index = await indexJson(line, signal);
  const call = JSON.parse(line) as CallRow;
  const memberText = (name: string) => {
    const node = index.member(0, name);
    return node === undefined ? 'null' : index.nodeText(node);
  };
  const [inputs, output] = [memberText('inputs'), memberText('output')];
  const [asked, answered] = [parseLossless(inputs), parseLossless(output)];
  const chat =
    readChat(asked, answered, call.exception) ??
    (isBlank(asked) ? answerAlone(answered, call.exception) : undefined) ??
    readPlainConversation(asked, answered, call.exception);
  const lacks: Side[] = [
    ...(isBlank(asked) && !chat?.said.some(isQuestion) ? ['question' as const] : []),
    ...(isBlank(answered) ? ['answer' as const] : []),
  ];
  if (!chat) {
    const [shownInputs, shownOutput] = [
      isBlank(asked) ? '{}' : inputs,
      isBlank(answered) ? 'null' : output,
    ];
    return { call, said: documents(shownInputs, shownOutput, call.exception), earlier: 0, lacks };
  }
  // the turns above show the earlier messages
  const earlier = Math.max(0, chat.said.findLastIndex(isQuestion));
  return { call, said: chat.said.slice(earlier), earlier, lacks };
}

/** Reads the messages of an output whose inputs are empty. */
function answerAlone(output: unknown, exception: string | null | undefined) {
  const answers = readOutputMessages({}, output);
  return answers && { said: [...answers, ...documents('{}', 'null', exception)] };
}

function documents(inputs: string, output: string, exception?: string | null): ChatMessage[] {
  const said = (role: string, text: string, kind: MessagePiece['kind'] = 'data'): ChatMessage => ({
    role,
    pieces: [{ kind, name: '', text }],
  });
  return [
    ...(inputs === '{}' ? [] : [said('in', inputs)]),
    ...(output === 'null' ? [] : [said('out', output)]),
    ...(exception ? [said('exception', exception, 'exception')] : []),
  ];
}
