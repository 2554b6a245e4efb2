import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { closeWithAnswers } from '../common/edge.js';

/** A database that does not answer within this time is not reachable. */
const PROBE_TIMEOUT_MS = 2000;

export interface Readiness {
  database: 'reachable' | 'unreachable';
  migrations: 'at_head' | 'pending' | 'unknown';
  draining: boolean;
}

/** Whether the process should be sent requests. */
@Injectable()
export class ReadinessService {
  private isDraining = false;

  constructor(private readonly dataSource: DataSource) {}

  /** From now on the process should be sent nothing new. */
  startDraining(): void {
    this.isDraining = true;
    closeWithAnswers();
  }

  async readiness(): Promise<Readiness> {
    const draining = this.isDraining;
    try {
      const hasPending = await within(PROBE_TIMEOUT_MS, this.dataSource.showMigrations());
      return { database: 'reachable', migrations: hasPending ? 'pending' : 'at_head', draining };
    } catch {
      return { database: 'unreachable', migrations: 'unknown', draining };
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
