import { type DeclaredName, declarations } from '../declared-name.js';
import { sql, type Sql } from '../query/sql.js';

/** A kind of change in a project. A feature declares its kinds beside its table. Derived rows have no kind. */
export type ChangeKind = DeclaredName<'kind of change'>;
export const { names: KINDS, declare: changeKind } = declarations('kind of change');

export type NotedChanges = Map<string, Set<ChangeKind>>;

function noteChange(noted: NotedChanges, projectId: string, kind: ChangeKind): void {
  const kinds = noted.get(projectId);
  if (kinds) kinds.add(kind);
  else noted.set(projectId, new Set([kind]));
}

export const CHANGES = 'skein_changes';
/** Shortest time between two notifying statements of a process, however many commits it makes. */
export const TICK_MS = 250;
/** Time until the next attempt after the database did not accept notices. */
const RETRY_MS = 1000;
/** Most projects that are listed. Above this number, one notice reports that all projects may have changed. */
const MAX_PROJECTS = 1000;
/** PostgreSQL accepts less than 8,000 bytes. One project id with its kinds takes up to 330. */
const MAX_NOTICE_BYTES = 7500;
const ANY_PROJECT = '*';

/**
 * Notifies all processes of committed changes with NOTIFY, outside of the transactions that made them. A transaction
 * that notifies waits at its commit for all others that notify. So changes are collected in memory, and one statement
 * per `TICK_MS` sends them in a transaction of its own. The first change after a pause is sent at once. Changes that a
 * process has not sent when it is killed are lost (docs/adr/0032-events.md).
 */
export class Changes {
  private noted: NotedChanges = new Map();
  private isOverflown = false;
  private telling: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly run: (statement: Sql) => Promise<unknown>,
    /** Returns the changes of the open transaction, if there is one. */
    private readonly uncommitted: () => NotedChanges | undefined,
  ) {}

  /**
   * Notifies watchers of a project, in every process, that something of the kind was written. Inside a transaction the
   * notice is sent after the commit, otherwise now.
   */
  note(projectId: string, kind: ChangeKind): void {
    const uncommitted = this.uncommitted();
    if (uncommitted) noteChange(uncommitted, projectId, kind);
    else this.noteCommitted(projectId, kind);
  }

  noteCommitted(projectId: string, kind: ChangeKind): void {
    if (this.noted.size < MAX_PROJECTS || this.noted.has(projectId))
      noteChange(this.noted, projectId, kind);
    else this.isOverflown = true;
    if (!this.telling && !this.timer) this.begin();
  }

  /** Sends the remaining changes. They are lost if the database does not accept them. */
  async flush(): Promise<void> {
    await this.telling;
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.noted.size > 0) await this.tell();
    clearTimeout(this.timer);
  }

  private begin(): void {
    this.telling = this.tell().finally(() => (this.telling = undefined));
  }

  private async tell(): Promise<void> {
    const { noted, isOverflown } = this;
    this.noted = new Map();
    this.isOverflown = false;
    let pauseMs = TICK_MS;
    try {
      await this.run(notifyChanges(isOverflown ? [ANY_PROJECT] : makeNotices(noted)));
    } catch {
      pauseMs = RETRY_MS;
      this.isOverflown ||= isOverflown;
      for (const [projectId, kinds] of noted)
        for (const kind of kinds) noteChange(this.noted, projectId, kind);
    }
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.noted.size > 0) this.begin();
    }, pauseMs).unref();
  }
}

/** The commit does not wait for the disk, because it writes no data. */
const notifyChanges = (notices: string[]) => sql`
  SELECT set_config('synchronous_commit', 'off', true), pg_notify(${CHANGES}, notice)
  FROM unnest(${notices}::text[]) AS n(notice)`;

/** Builds notices with one line per project: its id and its kinds, separated by blanks. */
function makeNotices(noted: NotedChanges): string[] {
  const notices: string[] = [];
  let notice = '';
  for (const [projectId, kinds] of noted) {
    const line = [projectId, ...kinds].join(' ');
    if (notice.length + line.length >= MAX_NOTICE_BYTES) {
      notices.push(notice);
      notice = '';
    }
    notice += notice ? `\n${line}` : line;
  }
  return [...notices, notice];
}

/** Parses a notice, and drops kinds that this version does not know. Returns null when everything may have changed. */
export function changesIn(notice: string): NotedChanges | null {
  if (notice === ANY_PROJECT) return null;
  return new Map(
    notice.split('\n').map((line) => {
      const [projectId, ...kinds] = line.split(' ');
      return [projectId!, new Set(KINDS.filter((kind) => kinds.includes(kind)))];
    }),
  );
}
