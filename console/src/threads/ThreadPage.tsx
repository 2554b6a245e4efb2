import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type CallRow, derivedOf, tokensOf } from '../api/calls.ts';
import { send } from '../api/client.ts';
import { useLive } from '../api/live.ts';
import { chatOf, type Said } from '../json/chat.ts';
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
/** Of what is no conversation, so much of the text is shown; the trace has all of it. */
const SHOWN = 1200;

interface Turn {
  call: CallRow;
  inputs: string;
  output: string;
  said: Said[] | undefined;
}

/** A conversation, turn by turn, the oldest first. */
export function ThreadPage() {
  const { entity, project: name, threadId } = route.useParams();
  const project = `${entity}/${name}`;
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } =
    useInfiniteQuery({
      queryKey: ['thread', project, threadId],
      initialPageParam: undefined as string[] | undefined,
      queryFn: ({ pageParam, signal }) => turnsOf(project, threadId, pageParam, signal),
      getNextPageParam: (page) => {
        const last = page.length < PAGE ? undefined : page.at(-1)!.call;
        return last && [last.started_at, last.id];
      },
      structuralSharing: false,
    });
  useLive(project, ['calls'], () => refetch());
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
          {turns.map(({ call, inputs, output, said }) => {
            const { status, latency_ms, trace_name } = derivedOf(call);
            const tokens = tokensOf(call);
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
                {said ? (
                  said.map(({ role, text, toolCalls }, n) => (
                    <div key={n} className={styles['said']} data-role={role}>
                      <span>{role}</span>
                      <p>
                        {visible(text.slice(0, SHOWN * 4)) ||
                          toolCalls.map((one) => `${one.name}(…)`).join(', ')}
                      </p>
                    </div>
                  ))
                ) : (
                  <>
                    <Document role="in" text={inputs} />
                    <Document role="out" text={output} />
                  </>
                )}
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

const Document = ({ role, text }: { role: string; text: string }) => (
  <div className={styles['said']} data-role={role === 'out' ? 'assistant' : role}>
    <span>{role}</span>
    <pre>
      {visible(text.slice(0, SHOWN))}
      {text.length > SHOWN && '…'}
    </pre>
  </div>
);

async function turnsOf(
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
    columns: ['inputs', 'output', 'ended_at', 'summary'],
    ...(after && { after }),
  };
  const response = await send('POST', '/calls/stream_query', { body, signal });
  const lines = (await response.text()).split('\n').slice(0, -1);
  return Promise.all(lines.map((line) => turnOf(line, signal)));
}

/** The documents as they were sent, and a parsed copy for the conversation. */
async function turnOf(line: string, signal: AbortSignal): Promise<Turn> {
  const index = await indexed(line, signal);
  const call = JSON.parse(line) as CallRow;
  const textOf = (name: string) => {
    const node = index.member(0, name);
    return node === undefined ? '' : index.textOf(node);
  };
  const said = chatOf(call['inputs'], call['output']);
  // what came before is in the turns above
  const from = said?.findLastIndex(({ role }) => role === 'user') ?? 0;
  return {
    call,
    inputs: textOf('inputs'),
    output: textOf('output'),
    said: said?.slice(Math.max(0, from)),
  };
}
