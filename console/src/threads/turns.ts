import { type CallRow } from '../api/calls.ts';
import { allLines, send } from '../api/client.ts';
import { readPlain } from '../json/chat-plain.ts';
import { isQuestion, parsedExactly, type Piece, readChat, type Said } from '../json/chat.ts';
import { indexed } from '../json/indexed.ts';

export const PAGE = 20;
/** Of the calls below the turns of a page. */
const MOST_STEPS = 1000;

export interface Turn {
  call: CallRow;
  said: Said[];
  /** How many messages came before what the user said last. */
  earlier: number;
  /** The calls right below it, by their start. */
  steps: CallRow[];
}

export async function readTurns(
  project_id: string,
  threadId: string,
  after: string[] | undefined,
  signal: AbortSignal,
): Promise<Turn[]> {
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
  const steps = await stepsOf(
    project_id,
    turns.map(({ call }) => call.id),
    signal,
  );
  return turns.map((turn) => ({
    ...turn,
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

/** A turn as a conversation, or its documents as they were sent. */
async function readTurn(line: string, signal: AbortSignal): Promise<Omit<Turn, 'steps'>> {
  const index = await indexed(line, signal);
  const call = JSON.parse(line) as CallRow;
  const memberText = (name: string) => {
    const node = index.member(0, name);
    return node === undefined ? 'null' : index.nodeText(node);
  };
  const [inputs, output] = [memberText('inputs'), memberText('output')];
  const [asked, answered] = [parsedExactly(inputs), parsedExactly(output)];
  const chat =
    readChat(asked, answered, call.exception) ?? readPlain(asked, answered, call.exception);
  if (!chat) return { call, said: documents(inputs, output, call.exception), earlier: 0 };
  // what came before is in the turns above
  const earlier = Math.max(0, chat.said.findLastIndex(isQuestion));
  return { call, said: chat.said.slice(earlier), earlier };
}

function documents(inputs: string, output: string, exception: string | null = null): Said[] {
  const said = (role: string, text: string, kind: Piece['kind'] = 'data'): Said => ({
    role,
    pieces: [{ kind, name: '', text }],
  });
  return [
    ...(inputs === '{}' ? [] : [said('in', inputs)]),
    ...(output === 'null' ? [] : [said('out', output)]),
    ...(exception === null ? [] : [said('exception', exception, 'exception')]),
  ];
}
