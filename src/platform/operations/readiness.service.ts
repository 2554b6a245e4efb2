import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { wasRefusedLately } from '../http/disk-refusals.js';
import { closeWithAnswers } from '../http/edge.js';
import { showNumbers } from '../process/metrics.js';
import { isDistributed, unreachableNodes } from '../database/distribute.js';
import { UnfilledRows } from '../database/unfilled-rows.js';
import { schemaState } from '../database/schema-state.js';
import type { ReadinessDto } from './operations.dto.js';

/** A database that does not answer within this time is not reachable. */
const PROBE_TIMEOUT_MS = 2000;

/** Whether the process should be sent requests. */
@Injectable()
export class ReadinessService {
  private isDraining = false;
  /** Not asked again: a database is not made a cluster while a service runs on it. */
  private isCluster: boolean | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly unfilled: UnfilledRows,
  ) {
    showNumbers(
      'skein_ready',
      '1 where /ready finds nothing wrong: the database, its schema, whether it takes writes, the nodes of a cluster.',
      { label: 'what', aggregator: 'min' },
      () => this.numbers(),
    );
  }

  /** From now on the process should be sent nothing new. */
  startDraining(): void {
    this.isDraining = true;
    closeWithAnswers();
  }

  async readiness(): Promise<ReadinessDto> {
    const draining = this.isDraining;
    try {
      const [migrations, takesWrites] = await within(PROBE_TIMEOUT_MS, this.probe());
      const writes = takesWrites ? 'taken' : 'refused';
      return {
        database: 'reachable',
        migrations,
        writes,
        draining,
        unfilled_rows: this.unfilled.counts,
        ...(this.isCluster && { unreachable_nodes: await this.unreachableNodes() }),
      };
    } catch {
      return { database: 'unreachable', migrations: 'unknown', writes: 'unknown', draining };
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

  private async probe(): Promise<[ReadinessDto['migrations'], boolean]> {
    const { pending, unknown } = await schemaState(this.dataSource);
    const ahead = unknown.length > 0 ? 'newer' : 'at_head';
    const [row] = await this.dataSource.query<{ transaction_read_only: string }[]>(
      'SHOW transaction_read_only',
    );
    this.isCluster ??= await isDistributed(this.dataSource);
    const migrations = pending.length > 0 ? 'pending' : ahead;
    return [migrations, row!.transaction_read_only === 'off' && !wasRefusedLately()];
  }

  private async unreachableNodes(): Promise<string[] | null> {
    try {
      return await within(PROBE_TIMEOUT_MS, unreachableNodes(this.dataSource));
    } catch {
      return null;
    }
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
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
