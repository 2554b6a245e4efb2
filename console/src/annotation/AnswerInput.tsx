import { type RefObject, useId } from 'react';
import { visible } from '../json/visible-text.ts';
import { buttonClass } from '../ui/Button.tsx';
import controls from '../ui/controls.module.css';
import { inputClass } from '../ui/Field.tsx';
import styles from './annotation.module.css';
import { choiceKey, type Question } from './questions.ts';

export function AnswerInput({
  question,
  answer,
  isCurrent,
  isBusy,
  box,
  onAnswer,
  onFocus,
}: {
  question: Question;
  answer: string;
  /** Keys of the keyboard answer this question. */
  isCurrent: boolean;
  isBusy: boolean;
  box: RefObject<HTMLTextAreaElement | null> | undefined;
  onAnswer: (answer: string) => void;
  onFocus: () => void;
}) {
  const id = useId();
  const { label, description, kind, choices, schema } = question;
  return (
    <div
      className={styles['question']}
      role="group"
      aria-labelledby={id}
      aria-current={isCurrent ? 'true' : undefined}
      onFocus={onFocus}
    >
      <h2 id={id}>{visible(label)}</h2>
      {description && <p className={styles['soft']}>{visible(description)}</p>}
      {kind === 'choice' ? (
        <div className={styles['choices']}>
          {choices.map((choice, n) => (
            <button
              key={choice}
              type="button"
              data-choice
              aria-pressed={answer === choice}
              className={buttonClass()}
              disabled={isBusy}
              onClick={() => onAnswer(answer === choice ? '' : choice)}
            >
              {choiceKey(question, n) !== undefined && <kbd>{choiceKey(question, n)}</kbd>}
              {choiceLabel(choice)}
            </button>
          ))}
        </div>
      ) : (
        <textarea
          ref={box}
          aria-labelledby={id}
          aria-describedby={`${id}-hint`}
          className={inputClass}
          rows={kind === 'number' ? 1 : 4}
          inputMode={kind === 'number' ? 'decimal' : undefined}
          maxLength={schema.maxLength}
          readOnly={isBusy}
          value={answer}
          onChange={({ target }) => onAnswer(target.value)}
        />
      )}
      {kind !== 'choice' && (
        <span id={`${id}-hint`} className={controls['hint']}>
          {HINTS[kind]}
          {bounds(question)}
        </span>
      )}
    </div>
  );
}

const HINTS = {
  text: 'Enter saves the answer. Shift+Enter begins a new line.',
  number: 'A number',
  json: 'JSON that fits the schema of the question.',
};

const WORDS: Record<string, string> = { true: 'Yes', false: 'No' };

const choiceLabel = (choice: string): string => {
  const value: unknown = JSON.parse(choice);
  return visible(typeof value === 'string' ? value : (WORDS[choice] ?? choice));
};

const bounds = ({ kind, schema: { minimum, maximum } }: Question): string => {
  if (kind !== 'number') return '';
  const parts = [
    ...(minimum === undefined ? [] : [` from ${minimum}`]),
    ...(maximum === undefined ? [] : [` to ${maximum}`]),
  ];
  return `${parts.join('')}.`;
};
