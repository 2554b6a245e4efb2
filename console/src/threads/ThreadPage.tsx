import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type CallRow, callCost, callTokens, derivedSummary } from '../api/calls.ts';
import { useReread } from '../api/live-list.ts';
import { useLive } from '../api/live.ts';
import { type Remarks, useRemarks } from '../api/remarks.ts';
import { MessagePieces } from '../json/Chat.tsx';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { callDuration, count, money } from '../ui/format.ts';
import { EmptyState, Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { RemarkCounts } from '../ui/RemarkCounts.tsx';
import { Status } from '../ui/Status.tsx';
import { Time } from '../ui/Time.tsx';
import { threadQuery } from './queries.ts';
import styles from './threads.module.css';
import type { ThreadTurn } from './turns.ts';

const route = getRouteApi('/p/$entity/$project/threads/$threadId');
/** Characters of a piece that are shown before it is opened. */
const SHOWN = 4800;

export function ThreadPage() {
  const { entity, project: name, threadId } = route.useParams();
  const project = `${entity}/${name}`;
  const ofThread = threadQuery(project, threadId);
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } =
    useInfiniteQuery(ofThread);
  useLive(project, ['calls'], useReread(ofThread.queryKey));
  const turns = data?.pages.flat() ?? [];
  const remarks = useRemarks(
    project,
    turns.map(({ call }) => call.id),
  );
  return (
    <Page
      title={visible(threadId)}
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
        {data && turns.length === 0 && <EmptyState title="No such thread" />}
        <ol aria-label="Turns">
          {turns.map((turn) => (
            <TurnView
              key={turn.call.id}
              project={project}
              turn={turn}
              remarks={remarks.get(turn.call.id)}
            />
          ))}
        </ol>
        {hasNextPage && (
          <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show later turns
          </Button>
        )}
      </div>
    </Page>
  );
}

function TurnView({
  project,
  turn: { call, said, earlier, steps },
  remarks,
}: {
  project: string;
  turn: ThreadTurn;
  remarks: Remarks | undefined;
}) {
  const { status, latency_ms, trace_name } = derivedSummary(call);
  const tokens = callTokens(call);
  const cost = callCost(call);
  const hasAnswered = said.some(({ role }) => !ASKING.has(role));
  return (
    <li className={styles['turn']}>
      <p className={styles['facts']}>
        <Status status={status} isShort />
        <CallLink project={project} call={call}>
          {trace_name}
        </CallLink>
        <span>{callDuration({ status, latency_ms })}</span>
        {tokens && (
          <span>
            {count(tokens.input)} → {count(tokens.output)} tokens
          </span>
        )}
        {cost !== null && <span>{money(cost)}</span>}
        <Time at={call.started_at} />
        <RemarkCounts of={remarks} />
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
            <MessagePieces of={pieces} most={SHOWN} />
          </div>
        </div>
      ))}
      {steps.length > 0 && <Steps project={project} steps={steps} />}
      {(!hasAnswered || status === 'running') && (
        <p className={styles['earlier']}>{status === 'running' ? 'Still running' : 'No answer'}</p>
      )}
    </li>
  );
}

/** Roles whose messages are no answer. */
const ASKING = new Set(['user', 'system', 'developer', 'human', 'in']);

/** Lists the calls below a turn, folded. Failed calls are shown without opening the list. */
function Steps({ project, steps }: { project: string; steps: CallRow[] }) {
  const failed = steps.filter(({ exception }) => exception);
  return (
    <>
      <details className={styles['steps']}>
        <summary>
          {steps.length === 1 ? '1 call' : `${count(steps.length)} calls`}:{' '}
          {visible([...new Set(steps.map((step) => derivedSummary(step).trace_name))].join(', '))}
        </summary>
        <ul>
          {steps.map((step) => (
            <li key={step.id}>
              <Status status={derivedSummary(step).status} isShort />
              <CallLink project={project} call={step}>
                {derivedSummary(step).trace_name}
              </CallLink>
              <span>{callDuration(derivedSummary(step))}</span>
            </li>
          ))}
        </ul>
      </details>
      {failed.map((step) => (
        <p key={step.id} className={styles['failed']}>
          <CallLink project={project} call={step}>
            {derivedSummary(step).trace_name}
          </CallLink>{' '}
          {visible(step.exception!.slice(0, SHOWN))}
        </p>
      ))}
    </>
  );
}

function CallLink({
  project,
  call,
  children,
}: {
  project: string;
  call: CallRow;
  children: string;
}) {
  const [entity, name] = project.split('/') as [string, string];
  return (
    <Link
      to="/p/$entity/$project/traces/$traceId"
      params={{ entity, project: name, traceId: call.trace_id }}
      search={{ call: call.id }}
    >
      {visible(children)}
    </Link>
  );
}
