import cluster from 'node:cluster';
import { LRUCache } from 'lru-cache';
import { PrimaryQuestion } from '../../process/primary-question.js';

/** Most names counted for one rate. Beyond it the least recently used name is dropped, which only allows it more. */
const MAX_NAMES = 100_000;

type Points = [name: string, points: number, isSpent: boolean];

interface Level {
  points: number;
  at: number;
}

/**
 * Allows each name a number of points a minute: a leaky bucket, which drains evenly. Points above the rate must drain
 * before the next request is admitted, so no request is too large to ever pass. One process counts for all workers.
 */
export class RateLimiter {
  private readonly levels = new LRUCache<string, Level>({ max: MAX_NAMES });
  private readonly perMs: number;
  private readonly taking: PrimaryQuestion<number, Points>;

  constructor(
    about: string,
    private readonly perMinute: number,
  ) {
    this.perMs = perMinute / 60_000;
    this.taking = new PrimaryQuestion(about);
    this.taking.answer((points) => this.takeHere(...points));
  }

  /**
   * Takes points and returns 0. When too few are left, takes none and returns the milliseconds until enough are
   * available.
   */
  take(name: string, points = 1): Promise<number> {
    return this.counted(name, points, false);
  }

  /** Takes points that are already spent, or gives some back with a negative number. */
  async add(name: string, points: number): Promise<void> {
    await this.counted(name, points, true);
  }

  private async counted(...points: Points): Promise<number> {
    return cluster.isWorker ? (await this.taking.ask(points))! : this.takeHere(...points);
  }

  private takeHere(...[name, points, isSpent]: Points): number {
    const now = performance.now();
    const last = this.levels.get(name) ?? { points: 0, at: now };
    const level = Math.max(0, last.points - (now - last.at) * this.perMs);
    const room = Math.max(0, this.perMinute - points);
    if (!isSpent && level > room) return Math.ceil((level - room) / this.perMs);
    this.levels.set(name, { points: Math.max(0, level + points), at: now });
    return 0;
  }
}
