import { Injectable } from '@nestjs/common';
import { wasRefusedLately } from '../http/disk-refusals.js';
import { beginDraining } from '../http/edge.js';
import { registerLabelledGauge } from '../process/metrics.js';
import { SharedAnswer } from '../process/shared-answer.js';
import { Database } from '../database/database.js';
import { Probe, PROBE_TIMEOUT_MS } from '../database/probe.js';
import { isDistributed, unreachableNodes } from '../database/distribute.js';
import { ProvidersService } from '../people/providers.service.js';
import { UnfilledRows } from '../database/unfilled-rows.js';
import { schemaState } from '../database/schema-state.js';
import type { ReadinessDto } from './operations.dto.js';

type DatabaseReadiness = Pick<
  ReadinessDto,
  'database' | 'migrations' | 'writes' | 'unreachable_nodes'
>;

const UNREACHABLE: DatabaseReadiness = {
  database: 'unreachable',
  migrations: 'unknown',
  writes: 'unknown',
};

/**
 * Reports the readiness of the process for requests. Concurrent requests share one check of the database, on its own
 * connection.
 */
@Injectable()
export class ReadinessService {
  private isDraining = false;
  /** Read once, because a database does not become a cluster while a service runs on it. */
  private isCluster: boolean | undefined;
  private readonly found = new SharedAnswer(() => this.find());

  constructor(
    private readonly database: Database,
    private readonly probe: Probe,
    private readonly unfilled: UnfilledRows,
    private readonly providers: ProvidersService,
  ) {
    registerLabelledGauge(
      'skein_ready',
      '1 where /ready finds nothing wrong: the database, its schema, whether it takes writes, the nodes of a cluster.',
      { label: 'what', aggregator: 'min' },
      () => this.numbers(),
    );
  }

  startDraining(): void {
    this.isDraining = true;
    beginDraining();
  }

  async readiness(): Promise<ReadinessDto> {
    const { unreachable_nodes, ...found } = await this.found.get();
    const signIn = this.providers.reachable();
    const isReachable = found.database === 'reachable';
    return {
      ...found,
      draining: this.isDraining,
      ...(isReachable && { unfilled_rows: this.unfilled.counts }),
      ...(unreachable_nodes !== undefined && { unreachable_nodes }),
      ...(Object.keys(signIn).length > 0 && { sign_in: signIn }),
    };
  }

  private async find(): Promise<DatabaseReadiness> {
    const { isUnderWay, isLocked } = this.database.outage;
    if (isUnderWay) return UNREACHABLE;
    try {
      const [migrations, takesWrites] = await withTimeout(PROBE_TIMEOUT_MS, this.ask());
      return {
        database: 'reachable',
        migrations,
        writes: isLocked ? 'locked' : takesWrites ? 'taken' : 'refused',
        ...(this.isCluster && { unreachable_nodes: await this.unreachableNodes() }),
      };
    } catch {
      return UNREACHABLE;
    }
  }

  private async numbers(): Promise<Record<string, number>> {
    const { database, migrations, writes, unreachable_nodes } = await this.readiness();
    return {
      database: Number(database === 'reachable'),
      migrations: Number(migrations === 'at_head'),
      writes: Number(writes === 'taken'),
      ...(unreachable_nodes !== undefined && { nodes: Number(unreachable_nodes?.length === 0) }),
    };
  }

  private async ask(): Promise<[ReadinessDto['migrations'], boolean]> {
    const { pending, unknown } = await schemaState(this.probe);
    const ahead = unknown.length > 0 ? 'newer' : 'at_head';
    const [row] = await this.probe.query<{ transaction_read_only: string }[]>(
      'SHOW transaction_read_only',
    );
    this.isCluster ??= await isDistributed(this.probe);
    const migrations = pending.length > 0 ? 'pending' : ahead;
    return [migrations, row!.transaction_read_only === 'off' && !wasRefusedLately()];
  }

  private async unreachableNodes(): Promise<string[] | null> {
    try {
      return await withTimeout(PROBE_TIMEOUT_MS, unreachableNodes(this.probe));
    } catch {
      return null;
    }
  }
}

async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout')), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
