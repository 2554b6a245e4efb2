import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import type { QueueItem } from '../api/annotation.ts';
import { useMe } from '../api/session.ts';
import { Button } from '../ui/Button.tsx';
import { count, opName } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { AnswerInput } from './AnswerInput.tsx';
import { answersQuery, isTransient } from './queries.ts';
import { keepDraft, readDraft } from './drafts.ts';
import { itemAction, type ItemActions } from './item-keys.ts';
import {
  answerByKey,
  answerValue,
  type Answers,
  nextUnanswered,
  type Question,
  valueAnswer,
} from './questions.ts';
import { ShownFields } from './ShownFields.tsx';
import { useSave } from './useSave.ts';
import styles from './annotation.module.css';

interface ItemProps {
  project: string;
  item: QueueItem;
  total: number | undefined;
  questions: readonly Question[];
  isWriter: boolean;
  onNext: (item: QueueItem | null) => void;
  onGoTo: (position: number) => Promise<void>;
}

export function QueueItemForm({
  project,
  item,
  total,
  questions,
  isWriter,
  onNext,
  onGoTo,
}: ItemProps) {
  const me = useMe();
  const given = useQuery(answersQuery(project, item, me.user));
  const [typed, setTyped] = useState<Answers>(() => readDraft(item.id));
  const [current, setCurrent] = useState(0);
  const [told, tell] = useState<string>();
  const box = useRef<HTMLTextAreaElement>(null);
  const fields = useRef<HTMLElement>(null);
  const stored = storedAnswers(questions, given.data);
  const answers: Answers = { ...stored, ...typed };
  const unsaved = changedAnswers(typed, stored);
  const save = useSave({ item, questions, answers: unsaved, onNext });
  const moving = useMutation({ mutationFn: onGoTo });
  const isBusy = save.isPending || !isWriter;

  const answer = (at: number, text: string) => {
    if (isBusy) return;
    const ref = questions[at]!.ref;
    const next = { ...typed, [ref]: text };
    setTyped(next);
    keepDraft(item.id, next);
    tell(undefined);
    const isChosen = questions[at]!.kind === 'choice' && text !== '';
    setCurrent(isChosen ? nextUnanswered(questions, { ...stored, ...next }, at) : at);
  };
  const complete = () => {
    const fault = answersFault(questions, answers);
    tell(fault);
    if (fault === undefined && !save.isPending) save.mutate('completed');
  };
  const position = item.position_in_queue;
  const go = (by: number) => {
    if (position !== undefined && !moving.isPending) moving.mutate(position + by);
  };
  const actions: ItemActions = {
    save: () => isWriter && complete(),
    skip: () => isWriter && !save.isPending && save.mutate('skipped'),
    back: () => go(-1),
    forward: () => go(1),
    text: () => box.current?.focus(),
    leave: () => (document.activeElement as HTMLElement | null)?.blur(),
    question: (by) => setCurrent(Math.min(questions.length - 1, Math.max(0, current + by))),
    scroll: (by) => fields.current?.scrollBy({ top: by * 0.9 * fields.current.clientHeight }),
    choose: (key) => {
      const chosen = answerByKey(questions, current, key);
      if (chosen) answer(chosen.at, chosen.answer);
      return chosen !== undefined;
    },
  };
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (itemAction(event, actions)) event.preventDefault();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event);
    window.addEventListener('keydown', listener);
    return () => window.removeEventListener('keydown', listener);
  }, []);

  const [entity, name] = project.split('/') as [string, string];
  const textAt = firstTyped(questions, current);
  const error = given.error ?? moving.error;
  return (
    <div className={styles['item']}>
      <ShownFields project={project} item={item} box={fields} />
      <section className={styles['form']} aria-label="Answers">
        <header className={styles['itemHeader']}>
          <strong>
            {count(position)} of {count(total)}
          </strong>
          <Link
            to="/p/$entity/$project/traces/$traceId"
            params={{ entity, project: name, traceId: item.call_trace_id }}
            search={{ call: item.call_id }}
            title={item.call_op_name}
          >
            {opName(item.call_op_name)}
          </Link>
          <span className={styles['soft']}>{stateText(item, me.user)}</span>
        </header>
        {questions.map((question, n) => (
          <AnswerInput
            key={question.ref}
            question={question}
            answer={answers[question.ref] ?? ''}
            isCurrent={n === current}
            isBusy={isBusy}
            box={n === textAt ? box : undefined}
            onAnswer={(text) => answer(n, text)}
            onFocus={() => setCurrent(n)}
          />
        ))}
        {told !== undefined && <p role="alert">{told}</p>}
        {error && <ErrorNote error={error} />}
        {save.error && (
          <>
            <ErrorNote error={save.error} />
            {isTransient(save.error) && (
              <p role="status">
                Your answer is not saved yet. This page keeps it and tries again every few seconds.
              </p>
            )}
          </>
        )}
        {isWriter && (
          <div className={styles['actions']}>
            <Button look="primary" disabled={save.isPending} onClick={complete}>
              Save and next <kbd>↵</kbd>
            </Button>
            <Button disabled={save.isPending} onClick={() => save.mutate('skipped')}>
              Skip <kbd>s</kbd>
            </Button>
          </div>
        )}
        <p className={styles['keys']}>
          <kbd>←</kbd> <kbd>→</kbd> other items, <kbd>PgUp</kbd> <kbd>PgDn</kbd> fields,{' '}
          <kbd>↑</kbd> <kbd>↓</kbd> questions, <kbd>t</kbd> text, <kbd>Esc</kbd> leaves the text
        </p>
      </section>
    </div>
  );
}

const storedAnswers = (
  questions: readonly Question[],
  given: ReadonlyMap<string, unknown> | undefined,
): Answers =>
  Object.fromEntries(
    questions.flatMap((question) =>
      given?.has(question.name)
        ? [[question.ref, valueAnswer(question, given.get(question.name))]]
        : [],
    ),
  );

/** Answers that differ from the stored ones: only these are sent. */
const changedAnswers = (typed: Answers, stored: Answers): Answers =>
  Object.fromEntries(Object.entries(typed).filter(([ref, text]) => stored[ref] !== text));

/** The question that the key `t` focuses: the current one when it has a text box, else the first one that has. */
const firstTyped = (questions: readonly Question[], current: number): number =>
  questions[current] && questions[current].kind !== 'choice'
    ? current
    : questions.findIndex(({ kind }) => kind !== 'choice');

function answersFault(questions: readonly Question[], answers: Answers): string | undefined {
  const given = questions.filter(({ ref }) => answers[ref]);
  if (given.length === 0) return 'Answer a question first, or skip the item with s.';
  for (const question of given) {
    try {
      if (Number.isNaN(answerValue(question, answers[question.ref]!)))
        return `${question.label} needs a number.`;
    } catch {
      return `${question.label} needs JSON.`;
    }
  }
  return undefined;
}

function stateText({ annotation_state: state, annotator_user_id: by }: QueueItem, me: string) {
  if (state === 'unstarted') return '';
  const words = { in_progress: 'started', completed: 'completed', skipped: 'skipped' };
  return `${words[state]} by ${by === me ? 'you' : by}`;
}
