import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import { Chat } from '../json/Chat.tsx';
import { readChat } from '../../../src/platform/json/chat.ts';
import { parseLossless } from '../../../src/platform/json/chat-parts.ts';
import type { JsonIndex } from '../json/json-index.ts';
import { nodeAt } from '../json/path.ts';
import { JsonView, type MarkedValues } from '../json/JsonView.tsx';
import { LongText } from '../json/LongText.tsx';
import { decoded, visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { CopyButton } from '../ui/CopyButton.tsx';
import { bytes, callDuration, count } from '../ui/format.ts';
import { ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { type CallMatch, MatchText } from '../ui/MatchText.tsx';
import { Status } from '../ui/Status.tsx';
import { type Tab as TabOf, Tabs } from '../ui/Tabs.tsx';
import { Time } from '../ui/Time.tsx';
import type { Tab } from './search.ts';
import styles from './trace.module.css';
import { callMatchesQuery, callQuery, type TraceSpan } from './queries.ts';

const Collect = lazy(() =>
  import('../collect/Collect.tsx').then((module) => ({ default: module.Collect })),
);
const Costs = lazy(() => import('./Costs.tsx').then((module) => ({ default: module.Costs })));
const Feedback = lazy(() =>
  import('./Feedback.tsx').then((module) => ({ default: module.Feedback })),
);
const Compare = lazy(() => import('./Compare.tsx').then((module) => ({ default: module.Compare })));

/** Documents with more characters are not parsed into a conversation. */
const MOST_CHAT = 1_000_000;

export function CallPane({
  project,
  span,
  tab,
  other,
  said = NONE,
  onShow,
}: {
  project: string;
  span: TraceSpan;
  tab: Tab | undefined;
  /** The id of the call to compare with. */
  other: string | undefined;
  /** Texts that are marked. The place of the first is shown. */
  said: string[] | undefined;
  onShow: (shown: { tab: Tab; with?: string }) => void;
}) {
  const [text, showText] = useState<number>();
  const { data, error, refetch } = useQuery(callQuery(project, span));
  const { matches, isSearching, chosen, choose } = useMatches(project, span.id, said);
  const isShown = data && !isSearching;
  return (
    <section className={styles['pane']} aria-label="Call">
      <Header project={project} span={span} />
      {error && (
        <div className={styles['paneError']}>
          <ErrorNote error={error} />
          <Button onClick={() => void refetch()}>Try again</Button>
        </div>
      )}
      <Matches
        of={matches}
        texts={said}
        chosen={chosen}
        onChoose={(n) => {
          choose(n);
          showText(undefined);
          onShow({ tab: tabOf(matches[n]!) });
        }}
      />
      {!isShown && !error && <Skeleton rows={8} />}
      {isShown && text !== undefined && (
        <WholeText index={data} node={text} onBack={() => showText(undefined)} />
      )}
      {isShown && text === undefined && (
        <Documents
          project={project}
          span={span}
          index={data}
          tab={tab ?? (matches[0] && tabOf(matches[0]))}
          matches={matches}
          chosen={chosen}
          texts={said}
          other={other}
          onShow={onShow}
          onText={showText}
        />
      )}
    </section>
  );
}

/** Finds where the call says some texts, and which of the places is shown. */
function useMatches(project: string, id: string, said: string[]) {
  const [chosen, choose] = useState(0);
  const { data, isPending } = useQuery(callMatchesQuery(project, id, said));
  const matches = data?.matches ?? NO_MATCHES;
  return { matches, isSearching: said.length > 0 && isPending, chosen, choose };
}

const Header = ({ project, span }: { project: string; span: TraceSpan }) => (
  <header className={styles['paneHeader']}>
    <h2 title={span.opName}>{visible(span.name)}</h2>
    <p className={styles['paneFacts']}>
      <Status status={span.status} />
      <CallDuration span={span} />
      {span.tokens && (
        <span>
          {count(span.tokens.input)} → {count(span.tokens.output)} tokens
        </span>
      )}
      <Time at={span.startedAt} />
      <code title="id">{span.id}</code>
    </p>
    <Suspense fallback={null}>
      <Collect project={project} callIds={[span.id]} />
    </Suspense>
  </header>
);

/** Shows a string that is too long for its place in the document. */
const WholeText = ({
  index,
  node,
  onBack,
}: {
  index: JsonIndex;
  node: number;
  onBack: () => void;
}) => (
  <div className={styles['whole']}>
    <div className={styles['wholeBar']}>
      <Button onClick={onBack}>Back</Button>
      <span>{bytes(index.nodeLength(node))}</span>
      <CopyButton label="Copy text" text={() => decoded(index.nodeText(node))} />
      <CopyButton label="Copy JSON" text={() => index.nodeText(node)} />
    </div>
    <LongText label="Text" text={decoded(index.nodeText(node))} />
  </div>
);

function CallDuration({ span: { status, latency } }: { span: TraceSpan }) {
  const text = callDuration({ status, latency_ms: latency }, 'running');
  if (text !== 'unknown') return <span>{text}</span>;
  return <span title="The end of the call lies before its start">duration unknown</span>;
}

const NONE: string[] = [];
const NO_MATCHES: readonly CallMatch[] = [];

const tabOf = ({ path }: CallMatch): Tab => (/^(attributes|summary)/.test(path) ? 'more' : 'json');

/** Lists the places where the call says the texts. A click shows one. */
const Matches = ({
  of,
  texts,
  chosen,
  onChoose,
}: {
  of: readonly CallMatch[];
  texts: readonly string[];
  chosen: number;
  onChoose: (n: number) => void;
}) => (
  <ul className={styles['matches']} aria-label="Matches" hidden={of.length === 0}>
    {of.map((match, n) => (
      <li key={n}>
        <button type="button" aria-pressed={n === chosen} onClick={() => onChoose(n)}>
          <code>{visible(match.path)}</code> <MatchText of={match} texts={texts} isShort />
        </button>
      </li>
    ))}
  </ul>
);

interface DocumentsProps {
  project: string;
  span: TraceSpan;
  index: JsonIndex;
  tab: Tab | undefined;
  matches: readonly CallMatch[];
  chosen: number;
  texts: readonly string[];
  other: string | undefined;
  onShow: (shown: { tab: Tab; with?: string }) => void;
  onText: (node: number) => void;
}

function Documents({ project, span, index, tab, other, onShow, onText, ...said }: DocumentsProps) {
  const call = index.member(0, 'call') ?? 0;
  const { matches, chosen, texts } = said;
  const marked = useMemo(
    () => markedValues(index, call, { matches, chosen, texts }),
    [index, call, matches, chosen, texts],
  );
  const { sections, more, chat } = useMemo(() => callParts(index, call), [index, call]);
  const tabs: TabOf<Tab>[] = [
    ...(chat ? [{ value: 'chat' as const, label: 'Chat', content: <Chat {...chat} /> }] : []),
    {
      value: 'json' as const,
      label: 'Data',
      content: (
        <JsonView
          key={marked?.first}
          index={index}
          sections={sections}
          marked={marked}
          onText={onText}
        />
      ),
    },
    {
      value: 'more' as const,
      label: 'Attributes',
      content: (
        <JsonView
          key={marked?.first}
          index={index}
          sections={more}
          marked={marked}
          onText={onText}
        />
      ),
    },
    {
      value: 'cost' as const,
      label: 'Cost',
      content: <Costs project={project} index={index} call={call} id={span.id} />,
    },
    {
      value: 'feedback' as const,
      label: 'Feedback',
      content: <Feedback project={project} callId={span.id} />,
    },
    {
      value: 'compare' as const,
      label: 'Compare',
      content: (
        <Compare
          project={project}
          id={span.id}
          index={index}
          other={other}
          onCompare={(id) => onShow({ tab: 'compare', with: id })}
        />
      ),
    },
    {
      value: 'raw' as const,
      label: 'Raw',
      content: (
        <div className={styles['whole']}>
          <div className={styles['wholeBar']}>
            <span>{bytes(new Blob([index.nodeText(call)]).size)} as the service answers it</span>
            <CopyButton label="Copy exact" text={() => index.nodeText(call)} />
          </div>
          <LongText label="Raw call" text={index.nodeText(call)} />
        </div>
      ),
    },
  ];
  return (
    <div className={styles['tabs']}>
      <Suspense fallback={<Skeleton rows={6} />}>
        <Tabs
          isFull
          value={tab && tabs.some(({ value }) => value === tab) ? tab : tabs[0]!.value}
          onChange={(next) => onShow({ tab: next })}
          tabs={tabs}
        />
      </Suspense>
    </div>
  );
}

function markedValues(
  index: JsonIndex,
  call: number,
  { matches, chosen, texts }: Pick<DocumentsProps, 'matches' | 'chosen' | 'texts'>,
): MarkedValues | undefined {
  const nodes = matches.map(({ path }) => nodeAt(index, call, path));
  const first = nodes[chosen];
  if (first === undefined) return undefined;
  return { first, nodes: new Set(nodes.filter((node) => node !== undefined)), texts };
}

function callParts(index: JsonIndex, call: number) {
  const member = (name: string) => index.member(call, name);
  const some = (titles: Record<string, string>) =>
    Object.entries(titles).flatMap(([name, title]) => {
      const root = member(name);
      return root === undefined || index.nodeText(root) === 'null' ? [] : [{ title, root }];
    });
  const [inputs, output] = [member('inputs'), member('output')];
  const length =
    (inputs === undefined ? 0 : index.nodeLength(inputs)) +
    (output === undefined ? 0 : index.nodeLength(output));
  const parsed = (node: number | undefined): unknown =>
    node === undefined ? undefined : parseLossless(index.nodeText(node));
  return {
    sections: some({ exception: 'Exception', inputs: 'Inputs', output: 'Output' }),
    more: some({ attributes: 'Attributes', summary: 'Summary' }),
    // a parsed copy for the conversation only; the documents are shown from their text
    chat:
      length > MOST_CHAT
        ? undefined
        : readChat(
            safely(() => parsed(inputs)),
            safely(() => parsed(output)),
            safely(() => parsed(member('exception'))),
          ),
  };
}

/** Returns undefined when reading throws: a value may be nested too deeply for a parser. */
function safely(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}
