import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { show } from '../common/metrics.js';
import { ReadinessService } from './readiness.service.js';

/** The state of `/ready` as numbers; of several workers the worst one counts. */
@Injectable()
export class ReadinessMetrics {
  constructor(service: ReadinessService) {
    show(
      new Gauge({
        name: 'skein_ready',
        help: '1 where /ready finds nothing wrong: the database, its schema, whether it takes writes, the nodes of a cluster.',
        labelNames: ['what'],
        aggregator: 'min',
        registers: [],
        async collect() {
          const { database, migrations, writes, unreachable_nodes } = await service.readiness();
          this.set({ what: 'database' }, Number(database === 'reachable'));
          this.set({ what: 'migrations' }, Number(migrations === 'at_head'));
          this.set({ what: 'writes' }, Number(writes === 'taken'));
          if (unreachable_nodes !== undefined)
            this.set({ what: 'nodes' }, Number(unreachable_nodes?.length === 0));
        },
      }),
    );
  }
}
