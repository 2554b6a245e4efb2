import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { Schedule } from '../../../platform/database/schedule.js';
import { registerLabelledGauge } from '../../../platform/process/metrics.js';
import { COUNTERS, LARGEST, largestEntities } from './quotas.query.js';
import { today } from './scope-state.js';

const LOOK_EVERY_MS = 15_000;

/** Reports what the largest entities used today. Each metric names few entities, however many there are. */
@Injectable()
export class LargestMetrics {
  private values = new Map<string, Record<string, number>>();

  constructor(
    private readonly database: Database,
    schedule: Schedule,
  ) {
    schedule.every(LOOK_EVERY_MS, 'largest entities', () => this.look());
    for (const counter of COUNTERS)
      registerLabelledGauge(
        `skein_entity_${counter}_today`,
        `The ${counter.replaceAll('_', ' ')} of the ${LARGEST} entities with the most since midnight (UTC).`,
        { label: 'entity', aggregator: 'max' },
        () => this.values.get(counter) ?? {},
      );
  }

  private async look(): Promise<void> {
    const values = new Map<string, Record<string, number>>();
    for (const { counter, entity, value } of await this.database.query(largestEntities(today())))
      values.set(counter, { ...values.get(counter), [entity]: value });
    this.values = values;
  }
}
