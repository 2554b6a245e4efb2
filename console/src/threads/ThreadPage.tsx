import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type CallRow, derivedSummary, callTokens } from '../api/calls.ts';
import { send } from '../api/client.ts';
import { useReread } from '../api/live-list.ts';
import { useLive } from '../api/live.ts';
import { Pieces } from '../json/Chat.tsx';
import { readChat, isQuestion, parsedExactly, type Piece, type Said } from '../json/chat.ts';
import { indexed } from '../json/indexed.ts';
import { visible } from '../json/visible.ts';
import { Button } from '../ui/Button.tsx';
import { count, duration } from '../ui/format.ts';
import { Empty, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Status } from '../ui/Status.tsx';
import { Time } from '../ui/Time.tsx';
import styles from './threads.module.css';

const route = getRouteApi('/p/$entity/$project/threads/$threadId');
const PAGE = 20;
/** So many characters of a piece are shown; the trace has all of it. */
const SHOWN = 4800;

interface Turn {
  call: CallRow;
  said: Said[];
  /** How many messages came before what the user said last. */
  earlier: number;
}

/** A conversation, turn by turn, the oldest first. */
export function ThreadPage() {
  const { entity, project: name, threadId } = route.useParams();
  const project = `${entity}/${name}`;
  const queryKey = ['thread', project, threadId];
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } =
    useInfiniteQuery({
      queryKey,
      initialPageParam: undefined as string[] | undefined,
      queryFn: ({ pageParam, signal }) => readTurns(project, threadId, pageParam, signal),
      getNextPageParam: (page) => {
        const last = page.length < PAGE ? undefined : page.at(-1)!.call;
        return last && [last.started_at, last.id];
      },
      structuralSharing: false,
    });
  useLive(project, ['calls'], useReread(queryKey));
  const turns = data?.pages.flat() ?? [];
  return (
    <Page
      title={threadId}
      isFull
      note={
        <Link to="/p/$entity/$project/threads" params={{ entity, project: name }}>
          All threads
        </Link>
      }
      error={error}
      onRetry={() => void refetch()}
    >
      <div className={styles['turns']}>
        {isPending && <Skeleton rows={12} />}
        {data && turns.length === 0 && <Empty title="No such thread" />}
        <ol aria-label="Turns">
          {turns.map(({ call, said, earlier }) => {
            const { status, latency_ms, trace_name } = derivedSummary(call);
            const tokens = callTokens(call);
            return (
              <li key={call.id} className={styles['turn']}>
                <p className={styles['facts']}>
                  <Status status={status} isShort />
                  <Link
                    to="/p/$entity/$project/traces/$traceId"
                    params={{ entity, project: name, traceId: call.trace_id }}
                    search={{ call: call.id }}
                  >
                    {trace_name}
                  </Link>
                  <span>{duration(latency_ms)}</span>
                  {tokens && (
                    <span>
                      {count(tokens.input)} → {count(tokens.output)} tokens
                    </span>
                  )}
                  <Time at={call.started_at} />
                </p>
                {earlier > 0 && (
                  <p className={styles['earlier']}>
                    {count(earlier)} earlier {earlier === 1 ? 'message' : 'messages'} in the trace
                  </p>
                )}
                {said.map(({ role, pieces }, n) => (
                  <div key={n} className={styles['said']} data-role={role}>
                    <span>{visible(role)}</span>
                    <div>
                      <Pieces of={pieces} most={SHOWN} whole="in the trace" />
                    </div>
                  </div>
                ))}
              </li>
            );
          })}
        </ol>
        {hasNextPage && (
          <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Later turns
          </Button>
        )}
      </div>
    </Page>
  );
}

async function readTurns(
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
  return Promise.all(lines.map((line) => readTurn(line, signal)));
}

/** A turn as a conversation, or its documents as they were sent. */
async function readTurn(line: string, signal: AbortSignal): Promise<Turn> {
  const index = await indexed(line, signal);
  const call = JSON.parse(line) as CallRow;
  const memberText = (name: string) => {
    const node = index.member(0, name);
    return node === undefined ? 'null' : index.nodeText(node);
  };
  const [inputs, output] = [memberText('inputs'), memberText('output')];
  const chat = readChat(parsedExactly(inputs), parsedExactly(output), call.exception);
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
    said('in', inputs),
    ...(exception === null ? [] : [said('exception', exception, 'exception')]),
    ...(output === 'null' && exception !== null ? [] : [said('out', output)]),
  ];
}
