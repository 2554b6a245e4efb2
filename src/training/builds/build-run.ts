import { createHash } from 'node:crypto';
import { ApiError } from '../../platform/errors.js';
import { Turn } from '../../platform/time/turn.js';
import type { BuildCountsDto } from './build-facts.dto.js';
import type { Built, BuiltGroup, BuildPlan, Input, Labelled } from './builder.js';
import { Census } from './census.js';
import { groupLine, type Split, type Trajectory } from './groups.js';
import type { History } from './histories.js';
import { Lints } from './lints.js';
import type { LintCode } from './recipe.dto.js';
import { readSaid, rewardOf, type Said } from './rewards.js';
import { type Rollout, rolloutOf } from './rollout.js';
import { hashOf } from './turns.js';
import type { Member, Unit, UnitCalls } from './units.service.js';

/** The text of one group: it is one line, which a trainer reads whole. */
const MAX_GROUP_LENGTH = 64 * 1024 * 1024;
/** Characters of a line that are made bytes at once, and hashed. */
const PART_LENGTH = 256 * 1024;

interface Group {
  key: string;
  split: Split;
  trajectories: Trajectory[];
  units: number;
  inputs: Input[];
  length: number;
}

/** One build under way: what was counted and found so far, and the group at hand. */
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
  private readonly census = new Census();
  private readonly digest = createHash('sha256');
  private readonly seen = new Set<string>();
  /** On which side each prompt and each thread stands. */
  private readonly sides = new Map<string, Split>();
  private readonly turn = new Turn();
  private group: Group | undefined;

  constructor(
    private readonly plan: Pick<BuildPlan, 'recipe' | 'goOn'>,
    private readonly newestStep: number | null,
  ) {
    this.lints = new Lints(plan.recipe.lints);
  }

  /** Lets others have their turn. Throws when the caller has left. */
  async goOn(): Promise<void> {
    if (!this.turn.isOver) return;
    await this.plan.goOn?.();
    await this.turn.next();
  }

  isSettled({ unit, members: { isWaiting, hasTooMany } }: Member): boolean {
    if (isWaiting) this.counts.waiting++;
    else if (hasTooMany) this.leaveOut('too_long', unit.root.id);
    return !isWaiting && !hasTooMany;
  }

  /** Whether the unit has a reward. Its feedback is evaluated here, once. */
  hasReward({ unit, members: { hasFailed } }: Member, said: Said[]): boolean {
    const { recipe } = this.plan;
    if (hasFailed && recipe.reward.exception === 'skip') {
      this.lints.note('failures_excluded', [unit.root.id]);
      this.counts.failed++;
      return false;
    }
    const { total, isInConflict } = rewardOf(recipe.reward, readSaid(said), {
      hasFailed,
      choice: 0,
    });
    if (total === null) {
      this.lints.note('label_coverage', [unit.root.id]);
      this.counts.unlabelled++;
      return false;
    }
    if (!Number.isFinite(total)) return this.leaveOut('reward_nan', unit.root.id);
    if (isInConflict && this.lints.note('reward_conflict', [unit.root.id])) {
      this.counts.dropped++;
      return false;
    }
    return true;
  }

  private leaveOut(code: LintCode, call: string): false {
    this.lints.note(code, [call]);
    this.counts.dropped++;
    return false;
  }

  beginGroup({ key, split }: Labelled): void {
    this.group = { key, split, trajectories: [], units: 0, inputs: [], length: 0 };
  }

  async addUnit(
    labelled: Labelled & { said: Said[] },
    { calls, texts, isTooLarge }: UnitCalls,
  ): Promise<void> {
    const { unit } = labelled;
    if (isTooLarge) {
      this.leaveOut('too_long', unit.root.id);
      return;
    }
    const rollout = await rolloutOf(calls, this.plan.recipe);
    if (!rollout) this.counts.empty++;
    else if (this.isRefused(labelled, rollout)) this.counts.dropped++;
    else this.add(labelled, rollout, texts);
  }

  /** Notes what is wrong with a unit. True when it has to be left out. */
  private isRefused({ unit, split }: Labelled, rollout: Rollout): boolean {
    const { maxSteps } = this.plan.recipe;
    const [oldest] = rollout.steps;
    const found = rollout.findings.map(({ code, call }) => this.lints.note(code, [call]));
    const isStale =
      this.newestStep !== null && oldest !== undefined && this.newestStep - oldest > maxSteps;
    if (isStale) found.push(this.lints.note('stale_policy', rollout.calls.slice(0, 1)));
    const other = split === 'train' ? 'eval' : 'train';
    if (sidesOf(unit, rollout).some((side) => this.sides.get(side) === other))
      found.push(this.lints.note('train_eval_leak', [unit.root.id]));
    const canonical = hashOf(rollout.histories.map(({ state }) => state));
    if (this.seen.has(canonical)) found.push(this.lints.note('duplicate', [unit.root.id]));
    this.seen.add(canonical);
    return found.includes(true);
  }

  private add(
    labelled: Labelled & { said: Said[] },
    rollout: Rollout,
    texts: UnitCalls['texts'],
  ): void {
    const { unit, said, hasFailed } = labelled;
    const { recipe } = this.plan;
    const group = this.group!;
    group.units++;
    const parts =
      recipe.select.unit === 'call' ? rollout.histories.map((one) => [one]) : [rollout.histories];
    const used = new Map<string, string>();
    const read = readSaid(said);
    for (const [choice, histories] of parts.entries()) {
      const reward = rewardOf(recipe.reward, read, { hasFailed, choice });
      for (const { id, sha256 } of reward.used) used.set(id, sha256);
      const { total } = reward;
      if (total === null || !Number.isFinite(total)) continue;
      group.trajectories.push({
        unit,
        choice,
        histories,
        rollout,
        reward: { ...reward, total },
        tokens: sumOf(histories, ({ sampled }) => sampled),
      });
      group.length += sumOf(histories, lengthOf);
    }
    if (group.length > MAX_GROUP_LENGTH)
      throw new ApiError(
        'too_large',
        `the group ${group.key.slice(0, 200)} is over the limit of ${MAX_GROUP_LENGTH} characters: lower group.max`,
      );
    const inputs = [
      ...texts.map(({ id, sha256 }) => ({ kind: 'call' as const, id, sha256 })),
      ...Array.from(used, ([id, sha256]) => ({ kind: 'feedback' as const, id, sha256 })),
    ];
    group.inputs.push(...inputs.map((input) => ({ ...input, unitId: unit.id })));
  }

  /** The group at hand, if it goes into the build. */
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
      counts.ungrouped += units;
      return null;
    }
    if (
      groupCodes(trajectories)
        .map((code) => this.lints.note(code, [example]))
        .includes(true)
    ) {
      counts.dropped += units;
      return null;
    }
    for (const { unit, rollout } of trajectories)
      for (const side of sidesOf(unit, rollout)) this.sides.set(side, split);
    this.census.add(trajectories, split);
    counts.groups++;
    counts.trajectories += trajectories.length;
    if (split === 'eval') counts.eval_groups++;
    else counts.trained_tokens += sumOf(trajectories, ({ tokens }) => tokens);
    const line = await this.lineOf(groupLine(key, split, trajectories));
    return { line, split, trajectories, inputs };
  }

  /** The bytes of a line in parts, counted into the digest. */
  private async lineOf(texts: Iterable<string>): Promise<Buffer[]> {
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

  result(): Omit<Built, 'as_of'> {
    const { counts, lints, census, digest } = this;
    return { counts, lints: lints.list, facts: census.facts, digest: digest.digest('hex') };
  }
}

const sumOf = <T>(list: readonly T[], number: (item: T) => number): number =>
  list.reduce((sum, item) => sum + number(item), 0);

const lengthOf = ({ turns, tools }: History): number =>
  sumOf(turns, ({ length }) => length) + (tools?.length ?? 0);

/** What must not stand on both sides. */
const sidesOf = ({ root: { thread_id } }: Unit, { promptKey }: Rollout): string[] => [
  `prompt ${promptKey}`,
  ...(thread_id ? [`thread ${thread_id}`] : []),
];

/** What is wrong with a group as a whole. */
function groupCodes(trajectories: readonly Trajectory[]): LintCode[] {
  const differ = (of: (trajectory: Trajectory) => unknown) =>
    new Set(trajectories.map(of)).size > 1;
  const isMixed: [LintCode, boolean][] = [
    ['zero_variance', !differ(({ reward }) => reward.total)],
    ['mixed_prompt', differ(({ rollout }) => rollout.messagesKey)],
    ['mixed_tools', differ(({ rollout }) => rollout.toolsKey)],
    ['mixed_policy', differ(({ rollout: { models, steps } }) => JSON.stringify([models, steps]))],
  ];
  return isMixed.flatMap(([code, is]) => (is ? [code] : []));
}
