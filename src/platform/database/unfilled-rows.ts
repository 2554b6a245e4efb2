import { Injectable } from '@nestjs/common';
import { registerLabelledGauge } from '../process/metrics.js';

/**
 * Counts rows of an older build whose new columns are still filled in the background. A feature that adds such columns
 * reports how many rows are left; `/ready` and `/metrics` publish the number.
 */
@Injectable()
export class UnfilledRows {
  private readonly left = new Map<string, number>();

  constructor() {
    registerLabelledGauge(
      'skein_unfilled_rows',
      'Rows of an older build whose new columns are not filled yet, by feature.',
      { label: 'what', aggregator: 'max' },
      () => this.counts,
    );
  }

  set(what: string, rows: number): void {
    this.left.set(what, rows);
  }

  /** Rows left, keyed by the name of what is filled. A name is missing until its number is known. */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.left);
  }
}
