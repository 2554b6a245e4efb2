import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { show } from '../common/metrics.js';
import { Database } from '../database/database.js';

/**
 * Connections of this process to PostgreSQL: `waiting` counts the requests that want one, `long` those busy ones that may
 * be held for long, and `waiting_long` the requests that want one of these.
 */
@Injectable()
export class DatabaseMetrics {
  constructor(database: Database) {
    show(
      new Gauge({
        name: 'skein_database_connections',
        help: 'Connections to PostgreSQL by state; waiting are requests without one.',
        labelNames: ['state'],
        registers: [],
        collect() {
          const { totalCount, idleCount, waitingCount } = database.pool;
          const { held, waiting } = database.longCounts;
          this.set({ state: 'busy' }, totalCount - idleCount);
          this.set({ state: 'idle' }, idleCount);
          this.set({ state: 'waiting' }, waitingCount);
          this.set({ state: 'long' }, held);
          this.set({ state: 'waiting_long' }, waiting);
        },
      }),
    );
  }
}
