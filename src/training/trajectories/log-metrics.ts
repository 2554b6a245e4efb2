import { storable } from '../../platform/query/columns.js';
import { assertFewMetrics } from '../metrics-limit.js';
import type { CheckedGroup, MetricValues, CheckedTrajectory } from '../trajectory-rules.js';

/** Computes the mean of finite numbers. Booleans count as 0 and 1; null and NaN do not count. */
class Mean {
  private sum = 0;
  private count = 0;

  add(value: number | boolean | null | undefined): void {
    const number = typeof value === 'boolean' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) return;
    this.sum += number;
    this.count++;
  }

  /** The mean; NaN without values. */
  get value(): number {
    return this.sum / this.count;
  }
}

class Means {
  private readonly means = new Map<string, Mean>();

  add(values: MetricValues = {}, prefix = ''): void {
    for (const [name, value] of Object.entries(values)) {
      const key = prefix + name;
      if (!this.means.has(key)) {
        this.means.set(key, new Mean());
        assertFewMetrics(this.means.size);
      }
      this.means.get(key)!.add(value);
    }
  }

  get values(): [string, number][] {
    return Array.from(this.means, ([name, mean]) => [name, mean.value]);
  }
}

/** Collects the metrics of one `log`, group by group. Memory grows with the number of metrics, not of trajectories. */
export class LogMetrics {
  numGroups = 0;
  numTrajectories = 0;
  numExceptions = 0;
  private readonly reward = new Mean();
  private readonly deviation = new Mean();
  private readonly metrics = new Means();

  add(group: CheckedGroup, trajectories: Pick<CheckedTrajectory, 'reward' | 'metrics'>[]): void {
    const rewards = trajectories.map(({ reward = 0 }) => reward);
    this.numGroups++;
    this.numTrajectories += trajectories.length;
    this.numExceptions += group.exceptions?.length ?? 0;
    for (const reward of rewards) this.reward.add(reward);
    if (trajectories.length > 1) this.deviation.add(populationDeviation(rewards));
    for (const { metrics } of trajectories) this.metrics.add(metrics);
    this.metrics.add(group.metrics, 'group_');
  }

  /**
   * Returns the metrics under the names of docs/training.md, each with the split before it. A computed metric
   * replaces a client's metric of the same name.
   */
  of(split: string): Record<string, number> {
    const { numGroups, numTrajectories, numExceptions } = this;
    const values: [string, number][] = [
      ...this.metrics.values,
      ['reward', this.reward.value],
      ['reward_std_dev', this.deviation.value],
      ['exception_rate', numExceptions / (numTrajectories + numExceptions)],
      ['num_groups', numGroups],
      ['num_trajectories', numTrajectories],
    ];
    return Object.fromEntries(
      values
        .filter(([, value]) => Number.isFinite(value))
        .map(([name, value]) => [`${split}/${storable(name)}`, value]),
    );
  }
}

function populationDeviation(rewards: (number | null)[]): number {
  const [mean, square] = [new Mean(), new Mean()];
  for (const reward of rewards) mean.add(reward);
  for (const reward of rewards) square.add(reward === null ? null : (reward - mean.value) ** 2);
  return Math.sqrt(square.value);
}
