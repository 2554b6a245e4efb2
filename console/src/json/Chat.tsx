import { createContext, useContext, useMemo, useState } from 'react';
import { Button } from '../ui/Button.tsx';
import { bytes } from '../ui/format.ts';
import type { Conversation, ChatMessage } from '../../../src/platform/json/chat.ts';
import type { MessagePiece } from '../../../src/platform/json/chat-parts.ts';
import styles from './json.module.css';
import { type Block, markdown } from './markdown.ts';
import { Markdown } from './Markdown.tsx';
import { Picture } from './Picture.tsx';
import { visible } from './visible-text.ts';

const MOST_CHARACTERS = 4000;

/** True when Markdown is shown as plain text. */
const AsWritten = createContext(false);

/** Shows a conversation as text with the structure of its Markdown. Nothing of it is treated as HTML. */
export function Chat({ said, others = [] }: Pick<Conversation, 'said'> & Partial<Conversation>) {
  const [asWritten, showAsWritten] = useState(false);
  const hasMarkdown = useMemo(
    () =>
      said.some(({ pieces }) => pieces.some(({ kind, text }) => kind === 'text' && markdown(text))),
    [said],
  );
  return (
    <AsWritten value={asWritten}>
      <div className={styles['chat']} tabIndex={0} role="group" aria-label="Messages">
        {hasMarkdown && (
          <Button
            look="quiet"
            className={styles['asWritten']}
            aria-pressed={asWritten}
            title="Show the text without Markdown formatting"
            onClick={() => showAsWritten(!asWritten)}
          >
            Plain text{' '}
          </Button>
        )}
        <ol aria-label="Conversation">
          {said.map(({ role, pieces, isTrained }, n) => (
            <li key={n} data-role={role}>
              <span className={styles['role']}>
                {visible(role)}
                {isTrained && <b title="The policy is trained on this message">trained</b>}
              </span>
              <MessagePieces of={pieces} most={MOST_CHARACTERS} />
            </li>
          ))}
        </ol>
        {others.length > 0 && (
          <p className={styles['others']}>The tab Data also shows: {visible(others.join(', '))}</p>
        )}
      </div>
    </AsWritten>
  );
}

/** Shows the pieces of a message. A long piece shows only `most` characters until it is opened. */
export const MessagePieces = ({ of, most }: { of: ChatMessage['pieces']; most: number }) =>
  of.map((piece, n) => <PieceView key={n} piece={piece} most={most} />);

function PieceView({ piece, most }: { piece: MessagePiece; most: number }) {
  const [isWhole, showWhole] = useState(false);
  const { kind, text } = piece;
  const isCut = !isWhole && text.length > most;
  const shown = isCut ? `${visible(text.slice(0, most))}…` : visible(text);
  const asWritten = useContext(AsWritten);
  const blocks = useMemo(
    () =>
      kind === 'text' && !asWritten
        ? markdown(isCut ? `${text.slice(0, most)}…` : text)
        : undefined,
    [kind, asWritten, isCut, text, most],
  );
  const label = pieceLabel(piece);
  return (
    <div className={styles['piece']} data-kind={kind}>
      {label && <span className={styles['role']}>{visible(label)}</span>}
      <PieceContent piece={piece} shown={shown} blocks={blocks} />
      {isCut && (
        <button type="button" className={styles['more']} onClick={() => showWhole(true)}>
          show all {bytes(text.length)}
        </button>
      )}
    </div>
  );
}

const PROSE = new Set<MessagePiece['kind']>(['text', 'reasoning', 'exception']);

function PieceContent({
  piece: { kind, name, base64 },
  shown,
  blocks,
}: {
  piece: MessagePiece;
  shown: string;
  blocks: Block[] | undefined;
}) {
  if (blocks) return <Markdown blocks={blocks} />;
  if (PROSE.has(kind)) return <p>{shown}</p>;
  const data = <pre>{kind === 'call' ? `${visible(name)}(${shown})` : shown}</pre>;
  if (base64 === undefined) return data;
  return <Picture base64={base64} label={visible(name)} otherwise={data} />;
}

const pieceLabel = ({ kind, name }: MessagePiece): string =>
  kind === 'reasoning'
    ? 'reasoning'
    : kind === 'result'
      ? `${name} answered`.trim()
      : kind === 'data'
        ? name
        : '';
