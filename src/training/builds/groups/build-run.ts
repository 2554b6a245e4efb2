import { createHash } from 'node:crypto';
import { ApiError } from '../../../platform/errors.js';
import { EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import type { BuildInput } from '../build-input.entity.js';
import type { BuildCountsDto, BuildFactsDto, HintDto, LintDto } from '../build-facts.dto.js';
import { BuildStatistics } from './build-statistics.js';
import { readCredits } from '../units/credits.js';
import { groupLine, type Split, type GroupTrajectory } from './groups.js';
import { Hints, type LeftOutReason } from '../recipe/hints.js';
import { creditedPart, type History } from '../rollout/histories.js';
import { Lints } from '../recipe/lints.js';
import type { LintCode } from '../recipe/recipe.dto.js';
import type { Recipe } from '../recipe/recipe.js';
import {
  parseUnitFeedback,
  type ParsedUnitFeedback,
  computeReward,
  type UnitFeedback,
} from '../units/rewards.js';
import { type Rollout, makeRollout } from '../rollout/rollout.js';
import { hashParts } from '../rollout/history-messages.js';
import type { UnitWithMembers, Unit, UnitCalls } from '../units/unit-calls.js';

/** Characters of one group. A trainer reads the line of a group as a whole. */
const MAX_GROUP_LENGTH = 64 * 1024 * 1024;
/** Characters that are encoded and hashed at once, between two pauses of the event loop. */
const PART_LENGTH = 256 * 1024;

/** The count that a reason adds to. Other reasons add to `dropped`. */
const COUNT_OF: Partial<Record<LeftOutReason, keyof BuildCountsDto>> = {
  waiting: 'waiting',
  unlabelled: 'unlabelled',
  failed: 'failed',
  empty: 'empty',
  no_key: 'ungrouped',
  small_group: 'ungrouped',
};

/** A unit that joins a group unless a lint leaves it out. */
export interface LabelledUnit {
  unit: Unit;
  hasFailed: boolean;
  key: string;
  split: Split;
}

export interface BuiltGroup {
  /** The line of JSON with its line break, in parts. */
  line: Buffer[];
  split: Split;
  trajectories: GroupTrajectory[];
  inputs: BuildInputDigest[];
}

export type BuildInputDigest = Pick<BuildInput, 'kind' | 'id' | 'sha256'>;

export interface BuildPlan {
  projectId: string;
  recipe: Recipe;
  /** Path of the recipe in the request, for error messages. */
  path: string;
  /** Name that the recipe was published under; null for a recipe in the request itself. */
  name: string | null;
  /** `new` takes only units that no succeeded job of the recipe and the model has trained. */
  mode: 'all' | 'new';
  /** Id of an erased build. Only its units are built again. */
  of?: string;
  /** Receives the groups in their order. */
  take: (group: BuiltGroup) => Promise<void>;
  /** Called at each pause of the event loop. Throws when the client has left or its key was revoked. */
  goOn: () => Promise<void>;
}

export interface BuildResult {
  as_of: string;
  counts: BuildCountsDto;
  lints: LintDto[];
  hint: HintDto | null;
  facts: BuildFactsDto;
  digest: string;
}

type GroupInProgress = Omit<BuiltGroup, 'line'> & { key: string; units: number; length: number };

type ScoredUnit = LabelledUnit & {
  parents: ReadonlyMap<string, string | null>;
  said: UnitFeedback[];
};

type TrajectoryPart = Pick<GroupTrajectory, 'scored' | 'choice' | 'histories'> & {
  said: ParsedUnitFeedback[];
};

/** Collects the counts and lints of one build, and the group that is being built. */
export class BuildRun {
  readonly counts: BuildCountsDto = {
    units: 0,
    waiting: 0,
    unlabelled: 0,
    failed: 0,
    empty: 0,
    ungrouped: 0,
    dropped: 0,
    trajectories: 0,
    groups: 0,
    eval_groups: 0,
    trained_tokens: 0,
  };
  private readonly lints: Lints;
  private readonly hints = new Hints();
  private readonly census = new BuildStatistics();
  private readonly digest = createHash('sha256');
  private readonly seen = new Set<string>();
  /** The side of the split of each prompt and thread that is in the build. */
  private readonly sides = new Map<string, Split>();
  private readonly turn = new EventLoopTurn();
  private group: GroupInProgress | undefined;

  constructor(
    private readonly plan: Pick<BuildPlan, 'recipe' | 'goOn'>,
    private readonly newestStep: number | null,
  ) {
    this.lints = new Lints(plan.recipe.lints);
  }

  /** Pauses for other requests when the event loop turn is over. Throws when the client has left. */
  async goOn(): Promise<void> {
    if (!this.turn.isOver) return;
    await this.plan.goOn();
    await this.turn.next();
  }

  isSettled({ unit, members: { isWaiting, hasTooMany } }: UnitWithMembers): boolean {
    if (isWaiting) this.leaveOut('waiting');
    else if (hasTooMany) this.drop('too_long', unit.root.id);
    return !isWaiting && !hasTooMany;
  }

  /**
   * Returns true when the unit has a reward. With `credit: 'turn'`, a reward for one of its turns is enough.
   * Evaluates the feedback of the unit once.
   */
  hasReward({ unit, members }: UnitWithMembers, said: UnitFeedback[]): boolean {
    const { recipe } = this.plan;
    const { hasFailed, parents, candidates, unread } = members;
    if (hasFailed && recipe.reward.exception === 'skip') {
      this.lints.note('failures_excluded', [unit.root.id]);
      return this.leaveOut('failed');
    }
    const calls = [...candidates.map(({ id }) => id), ...unread];
    const rewards = readCredits(calls, { parents, said }, recipe.reward).map((credit) =>
      computeReward(recipe.reward, parseUnitFeedback(credit.said), { hasFailed, choice: 0 }),
    );
    const known = rewards.filter(({ total }) => total !== null);
    if (known.length === 0) {
      this.lints.note('label_coverage', [unit.root.id]);
      return this.leaveOut('unlabelled');
    }
    if (known.some(({ total }) => !Number.isFinite(total)))
      return this.drop('reward_nan', unit.root.id);
    const isInConflict = known.some((reward) => reward.isInConflict);
    if (!isInConflict || !this.lints.note('reward_conflict', [unit.root.id])) return true;
    return this.leaveOut('reward_conflict');
  }

  /** Counts units that are not in the build. */
  leaveOut(reason: LeftOutReason, units = 1): false {
    this.counts[COUNT_OF[reason] ?? 'dropped'] += units;
    this.hints.add(reason, units);
    return false;
  }

  private drop(code: LintCode, call: string): false {
    this.lints.note(code, [call]);
    return this.leaveOut(code);
  }

  beginGroup({ key, split }: LabelledUnit): void {
    this.group = { key, split, trajectories: [], units: 0, inputs: [], length: 0 };
  }

  async addUnit(labelled: ScoredUnit, read: UnitCalls): Promise<void> {
    const { unit, said } = labelled;
    const { calls, unread, last, isTooLarge } = read;
    if (isTooLarge) return void this.drop('too_long', unit.root.id);
    if (unread.size > 0 && this.lints.note('call_unread', [...unread], unread.size))
      return void this.leaveOut('call_unread');
    const scored = said.find(({ call }) => unread.has(last.get(call) ?? ''));
    if (scored) return void this.drop('scored_call_unread', scored.call);
    const rollout = await makeRollout(calls, this.plan.recipe);
    if (!rollout) this.leaveOut('empty');
    else if (!this.isRefused(labelled, rollout)) this.add(labelled, rollout, read.texts);
  }

  /** Notes the lints of a unit. Returns true when the unit has to be left out. */
  private isRefused({ unit, split }: LabelledUnit, rollout: Rollout): boolean {
    const { maxSteps } = this.plan.recipe;
    const [oldest] = rollout.steps;
    const findings: { code: LintCode; call: string }[] = [...rollout.findings];
    if (this.newestStep !== null && oldest !== undefined && this.newestStep - oldest > maxSteps)
      findings.push({ code: 'stale_policy', call: rollout.calls[0]! });
    const other = split === 'train' ? 'eval' : 'train';
    if (splitSides(unit, rollout).some((side) => this.sides.get(side) === other))
      findings.push({ code: 'train_eval_leak', call: unit.root.id });
    const canonical = hashParts(rollout.histories.map(({ state }) => state));
    if (this.seen.has(canonical)) findings.push({ code: 'duplicate', call: unit.root.id });
    this.seen.add(canonical);
    const dropping = findings.filter(({ code, call }) => {
      const isDropped = this.lints.note(code, [call]);
      // only found when the recipe sets `build.token_exact`, so the unit is always dropped
      return isDropped || code === 'token_inexact';
    });
    const [first] = dropping;
    if (first) this.leaveOut(first.code);
    return first !== undefined;
  }

  private add(labelled: ScoredUnit, rollout: Rollout, texts: UnitCalls['texts']): void {
    const { unit, hasFailed } = labelled;
    const group = this.group!;
    group.units++;
    const used = new Map<string, string>();
    for (const { said, scored, choice, histories } of this.partsOf(labelled, rollout)) {
      const reward = computeReward(this.plan.recipe.reward, said, { hasFailed, choice });
      for (const { id, sha256 } of reward.used) used.set(id, sha256);
      const { total } = reward;
      if (total === null || !Number.isFinite(total)) continue;
      group.trajectories.push({
        unit,
        choice,
        scored,
        histories,
        rollout,
        reward: { ...reward, total },
        tokens: sumBy(histories, ({ trained }) => sumBy(trained, ({ sampled }) => sampled)),
      });
      group.length += sumBy(histories, historyLength);
      if (group.length > MAX_GROUP_LENGTH)
        throw new ApiError(
          'too_large',
          `the group ${group.key.slice(0, 200)} is over the limit of ${MAX_GROUP_LENGTH} characters: lower group.max`,
        );
    }
    group.inputs.push(
      ...texts.map(({ id, sha256 }) => ({ kind: 'call' as const, id, sha256 })),
      ...Array.from(used, ([id, sha256]) => ({ kind: 'feedback' as const, id, sha256 })),
    );
  }

  /**
   * Yields the parts of a unit that each become a trajectory: the whole unit, each choice of a call, or the calls
   * that a score rewards.
   */
  private *partsOf(
    { parents, said }: ScoredUnit,
    { histories, calls }: Rollout,
  ): Generator<TrajectoryPart> {
    const { reward, select } = this.plan.recipe;
    for (const credit of readCredits(calls, { parents, said }, reward)) {
      const { scored } = credit;
      const part = { said: parseUnitFeedback(credit.said), scored };
      if (select.unit === 'call')
        for (const [choice, one] of histories.entries())
          yield { ...part, scored: null, choice, histories: [one] };
      else if (reward.credit === 'unit') yield { ...part, choice: 0, histories };
      else {
        const own = histories.flatMap((one) => creditedPart(one, credit.calls) ?? []);
        if (own.length > 0) yield { ...part, choice: 0, histories: own };
      }
    }
  }

  /** Ends the current group. Returns null when the group is left out of the build. */
  async endGroup(): Promise<BuiltGroup | null> {
    const { key, split, trajectories, units, inputs } = this.group!;
    this.group = undefined;
    const [first] = trajectories;
    if (!first) return null;
    const { counts } = this;
    const example = first.unit.root.id;
    if (
      trajectories.length < this.plan.recipe.group.min &&
      this.lints.note('small_group', [example])
    ) {
      this.leaveOut('small_group', units);
      return null;
    }
    const dropping = groupCodes(trajectories).filter((code) => this.lints.note(code, [example]));
    if (dropping.length > 0) {
      this.leaveOut(dropping[0]!, units);
      return null;
    }
    for (const { unit, rollout } of trajectories)
      for (const side of splitSides(unit, rollout)) this.sides.set(side, split);
    this.census.add(trajectories, split);
    counts.groups++;
    counts.trajectories += trajectories.length;
    if (split === 'eval') counts.eval_groups++;
    else counts.trained_tokens += sumBy(trajectories, ({ tokens }) => tokens);
    const line = await this.packLine(groupLine(key, split, trajectories));
    return { line, split, trajectories, inputs };
  }

  /** Encodes a line in parts, and adds them to the digest of the build. */
  private async packLine(texts: Iterable<string>): Promise<Buffer[]> {
    const line: Buffer[] = [];
    let text = '';
    const flush = async () => {
      const part = Buffer.from(text);
      text = '';
      this.digest.update(part);
      line.push(part);
      await this.goOn();
    };
    for (const piece of texts) {
      text += piece;
      if (text.length >= PART_LENGTH) await flush();
    }
    await flush();
    return line;
  }

  result(): Omit<BuildResult, 'as_of'> {
    const { counts, lints, census, digest } = this;
    const hint = this.hints.hintFor(this.plan.recipe, counts.units);
    return { counts, lints: lints.list, hint, facts: census.facts, digest: digest.digest('hex') };
  }
}

const sumBy = <T>(list: readonly T[], number: (item: T) => number): number =>
  list.reduce((sum, item) => sum + number(item), 0);

const historyLength = ({ turns, tools }: History): number =>
  sumBy(turns, ({ length }) => length) + (tools?.length ?? 0);

/** Returns the keys that must not be on both sides of the split: the prompt and the thread. */
const splitSides = ({ root: { thread_id } }: Unit, { promptKey }: Rollout): string[] => [
  `prompt ${promptKey}`,
  ...(thread_id ? [`thread ${thread_id}`] : []),
];

/** Returns the lints of a group as a whole. */
function groupCodes(trajectories: readonly GroupTrajectory[]): LintCode[] {
  const differ = (of: (trajectory: GroupTrajectory) => unknown) =>
    new Set(trajectories.map(of)).size > 1;
  const isMixed: [LintCode, boolean][] = [
    ['zero_variance', !differ(({ reward }) => reward.total)],
    ['mixed_prompt', differ(({ rollout }) => rollout.messagesKey)],
    ['mixed_tools', differ(({ rollout }) => rollout.toolsKey)],
    ['mixed_policy', differ(({ rollout: { models, steps } }) => JSON.stringify([models, steps]))],
  ];
  return isMixed.flatMap(([code, is]) => (is ? [code] : []));
}
