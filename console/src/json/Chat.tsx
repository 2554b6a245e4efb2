import type { Said } from './chat.ts';
import styles from './json.module.css';
import { visible } from './visible.ts';

const MOST_CHARACTERS = 20_000;

/** A conversation, as text: nothing that was said is markup. */
export function Chat({ said }: { said: Said[] }) {
  return (
    <ol className={styles['chat']} aria-label="Conversation" tabIndex={0}>
      {said.map(({ role, text, toolCalls, isTrained }, n) => (
        <li key={n} data-role={role}>
          <span className={styles['role']}>
            {role}
            {isTrained && <b title="The policy is trained on what it said here">trained</b>}
          </span>
          {text !== '' && (
            <p>
              {visible(text.slice(0, MOST_CHARACTERS))}
              {text.length > MOST_CHARACTERS && '… (the whole text is under Data)'}
            </p>
          )}
          {toolCalls.map(({ name, args }, i) => (
            <pre key={i}>{visible(`${name}(${args.slice(0, MOST_CHARACTERS)})`)}</pre>
          ))}
        </li>
      ))}
    </ol>
  );
}
