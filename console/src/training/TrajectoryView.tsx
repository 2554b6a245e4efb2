import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Chat } from '../json/Chat.tsx';
import { readTrajectoryMessages, joinPieceTexts } from '../../../src/platform/json/chat.ts';
import { JsonView } from '../json/JsonView.tsx';
import { LongText } from '../json/LongText.tsx';
import { decoded, visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import { CopyButton } from '../ui/CopyButton.tsx';
import { bytes, number } from '../ui/format.ts';
import { ErrorNote, Skeleton } from '../ui/Notice.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { type Trajectory, trajectoryIndexQuery } from './queries.ts';
import styles from './training.module.css';

const MOST_FACTS = 24;

export function TrajectoryView({
  id,
  trajectory,
  text,
}: {
  id: string;
  trajectory: Trajectory;
  /** The stored JSON of the trajectory. */
  text: string;
}) {
  const [tab, show] = useState<'chat' | 'data'>('chat');
  const { reward, metrics, metadata } = trajectory;
  const facts = [...factsIn(metrics), ...factsIn(metadata)].slice(0, MOST_FACTS);
  return (
    <section className={styles['reading']} aria-label="Trajectory">
      <dl tabIndex={0} className={styles['facts']}>
        <div>
          <dt>Reward</dt>
          <dd>{typeof reward === 'number' ? number(reward) : '–'}</dd>
        </div>
        {facts.map(([name, value], n) => (
          <div key={n}>
            <dt>{visible(name)}</dt>
            <dd title={visible(value)}>{visible(value)}</dd>
          </div>
        ))}
      </dl>
      <Tabs
        isFull
        value={tab}
        onChange={show}
        tabs={[
          {
            value: 'chat',
            label: 'Conversation',
            content: <Histories trajectory={trajectory} />,
          },
          { value: 'data', label: 'Data', content: <Data id={id} text={text} /> },
        ]}
      />
    </section>
  );
}

function Histories({ trajectory }: { trajectory: Trajectory }) {
  const { messages_and_choices, additional_histories } = trajectory;
  const others = Array.isArray(additional_histories) ? (additional_histories as unknown[]) : [];
  const histories = [messages_and_choices, ...others.map(historyMessages)].map(
    readTrajectoryMessages,
  );
  return (
    <div className={styles['histories']}>
      {histories.map((said, n) => (
        <div key={n}>
          {n > 0 && <h2>History {n + 1}</h2>}
          {said.length > 0 ? (
            <Chat said={said} />
          ) : (
            <p className={styles['soft']}>This history is empty.</p>
          )}
        </div>
      ))}
    </div>
  );
}

/** Shows the JSON with every digit as it was sent. Logprobs are not included. */
function Data({ id, text }: { id: string; text: string }) {
  const [shown, show] = useState<number>();
  const { data: index, error } = useQuery(trajectoryIndexQuery(id, text));
  if (error) return <ErrorNote error={error} />;
  if (!index) return <Skeleton rows={8} />;
  if (shown !== undefined)
    return (
      <>
        <div className={styles['bar']}>
          <Button onClick={() => show(undefined)}>Back</Button>
          <span>{bytes(index.nodeLength(shown))}</span>
          <CopyButton label="Copy text" text={() => decoded(index.nodeText(shown))} />
        </div>
        <LongText label="Text" text={decoded(index.nodeText(shown))} />
      </>
    );
  return <JsonView index={index} sections={[{ title: 'Trajectory', root: 0 }]} onText={show} />;
}

const historyMessages = (history: unknown): unknown =>
  (history as { messages_and_choices?: unknown } | null)?.messages_and_choices;

/** Scalars as text, numbers formatted. */
function factsIn(values: unknown): [name: string, value: string][] {
  if (typeof values !== 'object' || values === null) return [];
  return Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'number' ? number(value) : String(value),
  ]);
}

/** The first message of the user, or else the first message, cut to the length of a table cell. */
export function firstWords({ messages_and_choices }: Trajectory): string {
  const said = readTrajectoryMessages(messages_and_choices);
  const first = said.find(({ role }) => role === 'user') ?? said[0];
  return first ? joinPieceTexts(first).slice(0, 120) : '';
}
