import type { History } from '../rollout/histories.js';
import type { Reward } from '../units/rewards.js';
import type { Rollout } from '../rollout/rollout.js';
import type { Unit } from '../units/unit-calls.js';

export interface GroupTrajectory {
  unit: Unit;
  /** Index of the choice, when each choice of a call is a trajectory; else 0. */
  choice: number;
  /** Id of the call whose score rewards the trajectory, when single calls are rewarded; else null. */
  scored: string | null;
  histories: History[];
  rollout: Rollout;
  reward: Reward & { total: number };
  /** Number of tokens sampled in the choices to train. */
  tokens: number;
}

export type Split = 'train' | 'eval';

/** Divides a list into parts of nearly equal size, none larger than `max`. */
export function dividedInto<T>(list: readonly T[], max: number): T[][] {
  const count = Math.ceil(list.length / max);
  return Array.from({ length: count }, (_, i) =>
    list.slice(Math.floor((i * list.length) / count), Math.floor(((i + 1) * list.length) / count)),
  );
}

/**
 * Prints a group as one line of JSON, piece by piece. Equal data gives equal bytes: the line contains no time of the
 * build and no random value.
 */
export function* groupLine(
  key: string,
  split: Split,
  trajectories: readonly GroupTrajectory[],
): Generator<string> {
  yield '{"trajectories":[';
  for (const [i, trajectory] of trajectories.entries()) {
    if (i > 0) yield ',';
    yield* trajectoryJson(trajectory);
  }
  yield `],"metadata":${JSON.stringify({ group_key: key, split })}}\n`;
}

function* historyJson({ turns, tools }: History): Generator<string> {
  yield '{"messages_and_choices":[';
  for (const [i, turn] of turns.entries()) {
    if (i > 0) yield ',';
    yield turn;
  }
  yield '],"tools":';
  yield tools ?? 'null';
}

function* trajectoryJson({
  unit,
  choice,
  scored,
  histories,
  rollout,
  reward,
}: GroupTrajectory): Generator<string> {
  const [first, ...others] = histories as [History, ...History[]];
  const { steps } = rollout;
  const policy = steps.length > 0 && {
    initial_policy_version: steps[0],
    final_policy_version: steps.at(-1),
  };
  const metadata = {
    unit_id: unit.id,
    call_id: unit.root.id,
    trace_id: unit.root.trace_id,
    ...(unit.root.thread_id && { thread_id: unit.root.thread_id }),
    ...(choice > 0 && { choice }),
    ...(scored !== null && { scored_call_id: scored }),
  };
  yield* historyJson(first);
  yield ',"additional_histories":[';
  for (const [i, history] of others.entries()) {
    if (i > 0) yield ',';
    yield* historyJson(history);
    yield '}';
  }
  yield '],';
  yield [
    `"reward":${JSON.stringify(reward.total)}`,
    ...(policy ? [JSON.stringify(policy).slice(1, -1)] : []),
    `"metrics":${JSON.stringify(reward.metrics)}`,
    `"metadata":${JSON.stringify(metadata)}`,
    `"logs":[]`,
    `"start_time":"${unit.root.started_at}"}`,
  ].join(',');
}
