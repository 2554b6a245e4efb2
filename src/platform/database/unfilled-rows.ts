import { Injectable } from '@nestjs/common';
import { registerLabelledGauge } from '../process/metrics.js';

/**
 * Rows of an older build whose new columns are filled in the background. A feature that adds such columns says how many rows
 * it has left; `/ready` and `/metrics` show that.
 */
@Injectable()
export class UnfilledRows {
  private readonly left = new Map<string, number>();

  constructor() {
    registerLabelledGauge(
      'skein_unfilled_rows',
      'Rows of an older build that are still to be read, by what is read from them.',
      { label: 'what', aggregator: 'max' },
      () => this.counts,
    );
  }

  set(what: string, rows: number): void {
    this.left.set(what, rows);
  }

  /** By what is read, from when it is known on. */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.left);
  }
}
