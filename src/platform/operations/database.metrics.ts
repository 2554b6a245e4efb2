import { Injectable } from '@nestjs/common';
import { registerLabelledGauge } from '../process/metrics.js';
import { Database } from '../database/database.js';

/**
 * Reports the connections of this process to PostgreSQL. `waiting` counts requests without a connection. `long` counts
 * busy connections that may be held for long, and `waiting_long` the requests that wait for one of these.
 */
@Injectable()
export class DatabaseMetrics {
  constructor(database: Database) {
    registerLabelledGauge(
      'skein_database_connections',
      'Connections to PostgreSQL by state; waiting are requests without one.',
      { label: 'state' },
      () => {
        const { totalCount, idleCount } = database.pool;
        const { held, waiting } = database.longCounts;
        return {
          busy: totalCount - idleCount,
          idle: idleCount,
          waiting: database.waitingCount,
          long: held,
          waiting_long: waiting,
        };
      },
    );
  }
}
