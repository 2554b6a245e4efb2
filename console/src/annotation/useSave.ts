import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useRef } from 'react';
import type { QueueItem } from '../api/annotation.ts';
import { post } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { wire } from '../api/wire.ts';
import { beginNext, callRef, finish, isTransient } from './queries.ts';
import { forgetDraft } from './drafts.ts';
import { type Answers, answerValue, type Question } from './questions.ts';

type ItemOutcome = 'completed' | 'skipped';

const AGAIN_MS = 3000;

/** An id for feedback, so that sending it twice stores it once. `randomUUID` is missing without TLS. */
const newId = () =>
  [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');

/**
 * Stores the answers of an item, ends it, and begins the next one. While the service is away, the answers are kept and
 * sent again in their latest form until it accepts them. Each has an id of its own, so none is stored twice.
 */
export function useSave({
  item,
  questions,
  answers,
  onNext,
}: {
  item: QueueItem;
  questions: readonly Question[];
  /** Answers that are not stored yet. */
  answers: Answers;
  onNext: (item: QueueItem | null) => void;
}) {
  const client = useQueryClient();
  const ids = useRef(new Map<string, string>());
  const save = useMutation({
    mutationFn: async (end: ItemOutcome) => {
      if (end === 'completed')
        for (const question of questions) {
          const answer = answers[question.ref];
          if (answer) await storeAnswer(item, question, { answer, ids: ids.current });
        }
      await finish(item, end);
      return beginNext(item.project_id, item.queue_id);
    },
    onSuccess: (next) => {
      ids.current.clear();
      forgetDraft(item.id);
      void client.invalidateQueries({ queryKey: keys.answers(item.id) });
      void client.invalidateQueries({ queryKey: keys.queueStats(item.project_id) });
      onNext(next);
    },
  });
  const again = useEffectEvent(() => save.mutate(save.variables!));
  const { error } = save;
  useEffect(() => {
    if (!isTransient(error)) return;
    const timer = setTimeout(again, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [error]);
  return save;
}

async function storeAnswer(
  { project_id, queue_id, call_id }: QueueItem,
  question: Question,
  { answer, ids }: { answer: string; ids: Map<string, string> },
): Promise<void> {
  const key = `${question.ref} ${answer}`;
  const id = ids.get(key) ?? newId();
  ids.set(key, id);
  await post('/feedback/create', {
    id,
    project_id,
    [wire.ref]: callRef(project_id, call_id),
    feedback_type: `${wire.feedback}.annotation.${question.name}`,
    annotation_ref: question.ref,
    queue_id,
    payload: { value: answerValue(question, answer) },
  });
}
