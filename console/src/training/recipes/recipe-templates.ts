import { wire } from '../../api/wire.ts';
import type { FeedbackTerm } from '../queries.ts';

export type Purpose = 'rl' | 'sft' | 'dpo' | 'kto';

export interface Template {
  purpose: Purpose;
  title: string;
  /** The purpose of the template, and its requirements on the recorded calls. */
  hint: string;
}

export const TEMPLATES: readonly Template[] = [
  {
    purpose: 'rl',
    title: 'Reinforcement learning',
    hint: 'Training compares rollouts of a task by their scores. It needs several rollouts of each task, and logprobs.',
  },
  {
    purpose: 'sft',
    title: 'Supervised fine-tuning',
    hint: 'The model imitates the answers that people found good.',
  },
  {
    purpose: 'dpo',
    title: 'Preference pairs (DPO)',
    hint: 'The model learns to prefer the best answer to the worst. It needs several answers to each prompt.',
  },
  {
    purpose: 'kto',
    title: 'Good and bad answers (KTO)',
    hint: 'Each answer is good or bad by itself, so thumbs are enough.',
  },
];

/** A type of feedback and a path in it, which a new recipe takes its reward from. */
export type RewardTerm = Omit<FeedbackTerm, 'isScore'>;

/** The first reward term of a new recipe. Purposes that compare answers prefer a score, others prefer thumbs. */
export function firstTerm(
  purpose: Purpose,
  found: readonly (RewardTerm & { isScore: boolean })[],
): RewardTerm | undefined {
  const score = found.find(({ isScore }) => isScore);
  const thumb = found.find((term) => term.feedback === thumbs().feedback && term.path === 'emoji');
  const term = isCompared(purpose) ? (score ?? thumb) : (thumb ?? score);
  return term && { feedback: term.feedback, path: term.path };
}

const isCompared = (purpose: Purpose) => purpose === 'rl' || purpose === 'dpo';

const thumbs = (): RewardTerm => ({ feedback: `${wire.feedback}.reaction.1`, path: 'emoji' });
const score = (): RewardTerm => ({
  feedback: `${wire.feedback}.runnable.score`,
  path: 'output.score',
});

/** Makes a recipe for a purpose. `given` is a term that the project has feedback for. */
export function templateRecipe(purpose: Purpose, given?: RewardTerm): object {
  const isScored = isCompared(purpose);
  const term = given ?? (isScored ? score() : thumbs());
  const isThumb = term.path === 'emoji';
  return {
    _class_name: 'Recipe',
    _bases: ['Object', 'BaseModel'],
    version: 1,
    purpose,
    select: { unit: 'trace', settle_s: 600 },
    llm: { policy: null },
    reward: {
      sum: [{ ...term, ...(isThumb && { map: { '👍': 1, '👎': isScored ? 0 : -1 } }) }],
      ...(purpose === 'sft' && { threshold: isThumb ? 1 : 0.5 }),
    },
    ...(isScored && {
      group: { by: purpose === 'rl' ? ['attributes.task_id', 'prompt'] : ['prompt'] },
    }),
    split: { salt: '1', eval_percent: 10 },
  };
}
