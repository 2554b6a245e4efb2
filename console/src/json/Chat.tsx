import type { Conversation, Piece, Said } from './chat.ts';
import styles from './json.module.css';
import { visible } from './visible.ts';

const MOST_CHARACTERS = 20_000;

/** A conversation, as text: nothing that was said is markup. */
export function Chat({ said, others = [] }: Pick<Conversation, 'said'> & Partial<Conversation>) {
  return (
    <div className={styles['chat']} tabIndex={0} role="group" aria-label="What was said">
      <ol aria-label="Conversation">
        {said.map(({ role, pieces, isTrained }, n) => (
          <li key={n} data-role={role}>
            <span className={styles['role']}>
              {visible(role)}
              {isTrained && <b title="The policy is trained on what it said here">trained</b>}
            </span>
            <Pieces of={pieces} most={MOST_CHARACTERS} whole="under Data" />
          </li>
        ))}
      </ol>
      {others.length > 0 && (
        <p className={styles['others']}>Also under Data: {visible(others.join(', '))}</p>
      )}
    </div>
  );
}

/** What a message says, of each piece at most so many characters; `whole` says where the rest is. */
export function Pieces({ of, most, whole }: { of: Said['pieces']; most: number; whole: string }) {
  return of.map((piece, n) => {
    const { kind, name, text } = piece;
    const shown =
      visible(text.slice(0, most)) + (text.length > most ? `… (the whole is ${whole})` : '');
    const label = pieceLabel(piece);
    return (
      <div key={n} className={styles['piece']} data-kind={kind}>
        {label && <span className={styles['role']}>{visible(label)}</span>}
        {kind === 'call' && <pre>{`${visible(name)}(${shown})`}</pre>}
        {(kind === 'result' || kind === 'data') && <pre>{shown}</pre>}
        {(kind === 'text' || kind === 'reasoning' || kind === 'exception') && <p>{shown}</p>}
      </div>
    );
  });
}

const pieceLabel = ({ kind, name }: Piece): string =>
  kind === 'reasoning'
    ? 'reasoning'
    : kind === 'result'
      ? `${name} answered`.trim()
      : kind === 'data'
        ? name
        : '';
