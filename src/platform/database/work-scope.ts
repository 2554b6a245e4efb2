import { AsyncLocalStorage } from 'node:async_hooks';
import type { PoolClient } from '../pg/driver.js';
import type { StatementSubject } from '../process/statement-watch.js';
import type { NotedChanges } from './changes.js';
import type { ConnectionSlot } from './connection-slots.js';

/** The open transaction of an asynchronous context. */
export interface OpenTransaction {
  client: PoolClient;
  noted: NotedChanges;
  /** The slot of a connection that may be held for long, and the time limit of a statement on it. */
  hold?: { slot: ConnectionSlot; statementMs: number } | undefined;
}

interface Work {
  /** Returns the owner of the work, as defined by `Shares`. Empty for the service itself. */
  owner: () => string;
  /** Describes the work to statement watchers. */
  subject?: StatementSubject | undefined;
  /** True when transactions of the work may write while the database is read-only by default. */
  isUrgent?: boolean | undefined;
}

const OURS: Work & { open?: OpenTransaction } = { owner: () => '' };

/** Knows for whom the statements of an asynchronous context run, and in which transaction. */
export class WorkScope {
  private readonly storage = new AsyncLocalStorage<typeof OURS>();

  private get work() {
    return this.storage.getStore() ?? OURS;
  }

  get owner(): string {
    return this.work.owner();
  }

  get subject(): StatementSubject | undefined {
    return this.work.subject;
  }

  get isUrgent(): boolean {
    return this.work.isUrgent ?? false;
  }

  get open(): OpenTransaction | undefined {
    return this.work.open;
  }

  /**
   * Runs `work` outside of any open transaction. What is not given stays as in the current context, and so does the
   * trace of a request. The owner need not be known before the first statement.
   */
  run<T>(given: Partial<Work>, work: () => T): T {
    const { owner, subject, isUrgent } = this.work;
    const inner = given.subject ? { trace: subject?.trace, ...given.subject } : subject;
    return this.storage.run({ owner, isUrgent, ...given, subject: inner }, work);
  }

  /** Runs `work` in an open transaction. */
  join<T>(open: OpenTransaction, owner: string, work: () => T): T {
    return this.storage.run({ ...this.work, owner: () => owner, open }, work);
  }
}
