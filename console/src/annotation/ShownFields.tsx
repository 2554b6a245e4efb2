import { useQuery } from '@tanstack/react-query';
import { type RefObject, useMemo } from 'react';
import type { QueueItem } from '../api/annotation.ts';
import { Chat } from '../json/Chat.tsx';
import { readChat } from '../../../src/platform/json/chat.ts';
import { parseLossless } from '../../../src/platform/json/chat-parts.ts';
import type { JsonIndex } from '../json/json-index.ts';
import { JsonView } from '../json/JsonView.tsx';
import { LongText } from '../json/LongText.tsx';
import { nodeAt } from '../json/path.ts';
import { rowsBelow } from '../json/tree-rows.ts';
import { decoded, visible } from '../json/visible-text.ts';
import { ErrorRetry } from '../ui/ErrorRetry.tsx';
import { Skeleton } from '../ui/Notice.tsx';
import { queuedCallQuery } from './queries.ts';
import styles from './annotation.module.css';

/** Paths that are shown when the queue names no fields. */
const ALL = ['inputs', 'output'];
/** Longer texts are laid out line by line, only the lines in view. */
const MOST_TEXT = 20_000;
const MOST_CHAT = 1_000_000;
const NONE: ReadonlySet<number> = new Set();

export function ShownFields({
  project,
  item,
  box,
}: {
  project: string;
  item: QueueItem;
  box: RefObject<HTMLElement | null>;
}) {
  const { data, error, refetch } = useQuery(queuedCallQuery(project, item.call_id));
  const fields = item.display_fields.length > 0 ? item.display_fields : ALL;
  return (
    <section ref={box} className={styles['fields']} aria-label="Fields" tabIndex={0}>
      {error && <ErrorRetry error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={8} />}
      {data && fields.map((path) => <ItemField key={path} index={data} path={path} />)}
    </section>
  );
}

function ItemField({ index, path }: { index: JsonIndex; path: string }) {
  const node = nodeAt(index, index.member(0, 'call') ?? 0, path);
  return (
    <section className={styles['field']} aria-label={visible(path)}>
      <h2>{visible(path)}</h2>
      {node === undefined ? (
        <p className={styles['soft']}>This call does not have this field.</p>
      ) : (
        <FieldValue index={index} node={node} path={path} />
      )}
    </section>
  );
}

function FieldValue({ index, node, path }: { index: JsonIndex; node: number; path: string }) {
  const said = useMemo(() => messagesIn(index, node), [index, node]);
  if (said)
    return (
      <div className={styles['chat']}>
        <Chat said={said} />
      </div>
    );
  if (index.kind(node) === 'string') {
    const text = decoded(index.nodeText(node));
    if (text.length <= MOST_TEXT) return <p className={styles['text']}>{visible(text)}</p>;
    return (
      <div className={styles['long']}>
        <LongText label={path} text={text} />
      </div>
    );
  }
  if (!index.hasChildren(node)) return <code>{visible(index.nodeText(node))}</code>;
  return <JsonField index={index} node={node} path={path} />;
}

/** Shows JSON at the height that it has when it opens. Opened members scroll inside. */
function JsonField({ index, node, path }: { index: JsonIndex; node: number; path: string }) {
  const sections = useMemo(() => [{ title: path, root: node }], [path, node]);
  const rows = useMemo(() => rowsBelow(index, node, NONE).length, [index, node]);
  return (
    <div className={styles['json']} data-rows={rows > 16 ? 'many' : rows > 6 ? 'some' : 'few'}>
      <JsonView index={index} sections={sections} />
    </div>
  );
}

/** Returns the messages when the value is a list of them, else undefined. */
function messagesIn(index: JsonIndex, node: number) {
  if (index.kind(node) !== 'array' || index.nodeLength(node) > MOST_CHAT) return undefined;
  try {
    return readChat({ messages: parseLossless(index.nodeText(node)) }, undefined)?.said;
  } catch {
    return undefined; // the value may be nested too deeply for a parser
  }
}
