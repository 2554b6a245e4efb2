import type { BinDto, BuildFactsDto, RewardFactsDto, SpreadDto } from '../build-facts.dto.js';
import type { Split, GroupTrajectory } from './groups.js';

const BINS = 10;

/** Computes the figures of a build. Keeps a few numbers for each trajectory. */
export class BuildStatistics {
  private readonly rewards: number[] = [];
  private readonly evalRewards: number[] = [];
  private readonly tokens: number[] = [];
  private readonly turns: number[] = [];
  private readonly metrics = new Map<string, { sum: number; count: number }>();
  private readonly sizes = new NameCounts();
  private readonly models = new NameCounts();
  private readonly dialects = new NameCounts();
  private readonly reasons = new NameCounts();
  private severalHistories = 0;
  private equalGroups = 0;

  add(group: readonly GroupTrajectory[], split: Split): void {
    this.sizes.add(String(group.length));
    const first = group[0]!.reward.total;
    if (group.every(({ reward }) => reward.total === first)) this.equalGroups++;
    for (const trajectory of group) this.addOne(trajectory, split);
  }

  private addOne({ reward, histories, rollout, tokens }: GroupTrajectory, split: Split): void {
    this.rewards.push(reward.total);
    if (split === 'eval') this.evalRewards.push(reward.total);
    this.tokens.push(tokens);
    this.turns.push(histories.reduce((sum, { turns }) => sum + turns.length, 0));
    if (histories.length > 1) this.severalHistories++;
    for (const [name, value] of Object.entries(reward.metrics)) {
      const { sum, count } = this.metrics.get(name) ?? { sum: 0, count: 0 };
      this.metrics.set(name, { sum: sum + value, count: count + 1 });
    }
    for (const model of rollout.models) this.models.add(model);
    for (const dialect of rollout.dialects) this.dialects.add(dialect);
    for (const reason of rollout.finishReasons) this.reasons.add(reason);
  }

  get facts(): BuildFactsDto {
    return {
      rewards: this.rewardFacts(),
      metrics: Object.fromEntries(
        Array.from(this.metrics, ([name, { sum, count }]) => [name, sum / count]),
      ),
      tokens: spread(this.tokens),
      turns: spread(this.turns),
      group_sizes: this.sizes.counts,
      models: this.models.counts,
      dialects: this.dialects.counts,
      finish_reasons: this.reasons.counts,
      several_histories: this.severalHistories,
    };
  }

  private rewardFacts(): RewardFactsDto {
    const { rewards } = this;
    const sorted = rewards.toSorted((a, b) => a - b);
    const mean = meanOrNull(rewards);
    const square = mean === null ? null : meanOrNull(rewards.map((reward) => (reward - mean) ** 2));
    return {
      mean,
      std_dev: square === null ? null : Math.sqrt(square),
      min: sorted[0] ?? null,
      max: sorted.at(-1) ?? null,
      eval_mean: meanOrNull(this.evalRewards),
      equal_groups: this.equalGroups,
      histogram: makeHistogram(sorted),
    };
  }
}

/** Counts up to 1,000 distinct names, and returns the 50 most frequent. */
class NameCounts {
  private readonly found = new Map<string, number>();

  add(name: string): void {
    if (this.found.size < 1000 || this.found.has(name))
      this.found.set(name, (this.found.get(name) ?? 0) + 1);
  }

  get counts(): Record<string, number> {
    const sorted = [...this.found].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
    return Object.fromEntries(sorted.slice(0, 50));
  }
}

const meanOrNull = (numbers: readonly number[]): number | null =>
  numbers.length === 0 ? null : numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

function spread(numbers: number[]): SpreadDto {
  const sorted = numbers.toSorted((a, b) => a - b);
  return {
    min: sorted[0] ?? 0,
    median: sorted[Math.floor(sorted.length / 2)] ?? 0,
    max: sorted.at(-1) ?? 0,
  };
}

/** Counts rewards in bins of equal width from the lowest to the highest; in one bin when all are equal. */
function makeHistogram(sorted: readonly number[]): BinDto[] {
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return [];
  if (min === max) return [{ from: min, to: max, count: sorted.length }];
  const width = (max - min) / BINS;
  const bins = Array.from({ length: BINS }, (_, i) => ({
    from: min + i * width,
    to: i === BINS - 1 ? max : min + (i + 1) * width,
    count: 0,
  }));
  for (const reward of sorted)
    bins[Math.min(BINS - 1, Math.floor((reward - min) / width))]!.count++;
  return bins;
}
