import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { Schedule } from '../../../platform/database/schedule.js';
import { logger } from '../../../platform/process/logger.js';
import { CallsService } from '../../../tracing/calls/calls.service.js';
import {
  lostCalls,
  lostLock,
  lostProcesses,
  MAX_CALLS,
  type GatewayProcessKey,
  processDelete,
  processInsert,
  processSeen,
} from './processes.query.js';

const SEEN_EVERY_MS = 5000;
/** How long a process stays registered in a project after its last request. */
const KEPT_MS = 60_000;
const ENDED = 'the process that relayed the request has ended';

interface ActiveProject {
  underWay: number;
  /** When the last request ended. */
  leftMs: number;
  /** Resolves when the process is registered in the project. */
  known: Promise<void>;
}

/**
 * Ends the calls of processes that were killed. A process registers in each project before its first call, and updates
 * its row every few seconds. Its calls name it (`attributes.gateway.process`). A process that was only unreachable for
 * a while still ends its own calls later. Its values then replace those that were stored here.
 */
@Injectable()
export class ProcessesService {
  readonly id = randomUUID();
  private readonly beganAt = new Date();
  private readonly projects = new Map<string, ActiveProject>();

  constructor(
    private readonly database: Database,
    private readonly calls: CallsService,
    schedule: Schedule,
  ) {
    schedule.every(SEEN_EVERY_MS, 'calls of killed processes', async () => {
      await this.tell();
      await this.endLost();
    });
  }

  /** Runs the work of a request. The work must not begin a call before `known` has resolved. */
  async run<T>(projectId: string, work: (known: Promise<void>) => Promise<T>): Promise<T> {
    const entered = this.projects.get(projectId) ?? this.enter(projectId);
    entered.underWay++;
    try {
      return await work(entered.known);
    } finally {
      entered.underWay--;
      entered.leftMs = Date.now();
    }
  }

  private enter(projectId: string): ActiveProject {
    const insert = processInsert(projectId, this.id, this.beganAt);
    const known = this.database.query(insert).then(() => {});
    const entered = { underWay: 0, leftMs: 0, known };
    this.projects.set(projectId, entered);
    known.catch(() => this.projects.delete(projectId));
    return entered;
  }

  private async tell(): Promise<void> {
    const least = Date.now() - KEPT_MS;
    for (const [projectId, { underWay, leftMs }] of this.projects)
      if (underWay === 0 && leftMs < least) this.projects.delete(projectId);
    const projects = [...this.projects.keys()];
    if (projects.length === 0) return;
    const seen = await this.database.query(processSeen(this.id, projects));
    const known = new Set(seen.map(({ project_id }) => project_id));
    // the project was erased, or another process treated this one as lost
    for (const projectId of projects) if (!known.has(projectId)) this.projects.delete(projectId);
  }

  private async endLost(): Promise<void> {
    for (const lost of await this.database.query(lostProcesses())) {
      let ended = 0;
      for (;;) {
        const count = await this.database.transaction({ long: 'bulk' }, () => this.endCalls(lost));
        ended += count;
        if (count < MAX_CALLS) break;
      }
      if (ended > 0)
        logger.warn({ ...lost, calls: ended }, 'calls of a process that ended were ended');
    }
  }

  /**
   * Ends calls of a lost process in one transaction, and deletes its row with the last calls. Returns the number of
   * calls.
   */
  private async endCalls(lost: GatewayProcessKey): Promise<number> {
    const [process] = await this.database.query(lostLock(lost));
    if (!process) return 0;
    const { project_id } = lost;
    const field = this.calls.field(project_id, 'attributes.gateway.process', 'process');
    const calls = await this.database.query(lostCalls(lost, process, field));
    for (const { id, ended_at } of calls) {
      const end = { project_id, id, ended_at: ended_at.toISOString(), exception: ENDED };
      await this.calls.end(end, '{"end":{}}', { owner: '' });
    }
    if (calls.length < MAX_CALLS) await this.database.query(processDelete(lost));
    return calls.length;
  }
}
