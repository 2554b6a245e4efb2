import { type DeclaredName, declarations } from '../declared-name.js';
import { sql, type Sql } from '../query/sql.js';

/** A kind of change in a project. A feature declares its own beside its table; what follows from other rows has none. */
export type ChangeKind = DeclaredName<'kind of change'>;
export const { names: KINDS, declare: changeKind } = declarations('kind of change');

/** Kinds by project. */
export type NotedChanges = Map<string, Set<ChangeKind>>;

export function noteChange(noted: NotedChanges, projectId: string, kind: ChangeKind): void {
  const kinds = noted.get(projectId);
  if (kinds) kinds.add(kind);
  else noted.set(projectId, new Set([kind]));
}

export const CHANGES = 'skein_changes';
/** Between two statements of a process, whatever it commits. */
export const TICK_MS = 250;
/** A database that took no notices is asked again after this time. */
const RETRY_MS = 1000;
/** Of more, no list is kept: all projects may have changed. */
const MAX_PROJECTS = 1000;
/** PostgreSQL takes less than 8,000 bytes. The names of a project and its kinds take up to 330. */
const MAX_NOTICE_BYTES = 7500;
/** Any project may have changed in any way. */
const ANY_PROJECT = '*';

/**
 * Tells all processes what was committed, by NOTIFY, and keeps it away from those that commit: a transaction that
 * notifies waits at its commit for all others that do. So changes are noted in memory, and one statement each `TICK_MS`
 * tells them, in a transaction of its own. The first change after a pause is told at once. What a process has noted when
 * it is killed is lost (docs/adr/0032-events.md).
 */
export class Changes {
  private noted: NotedChanges = new Map();
  private isOverflown = false;
  /** The statement under way. */
  private telling: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly run: (statement: Sql) => Promise<unknown>) {}

  /** Something of the kind was committed. */
  note(projectId: string, kind: ChangeKind): void {
    if (this.noted.size < MAX_PROJECTS || this.noted.has(projectId))
      noteChange(this.noted, projectId, kind);
    else this.isOverflown = true;
    if (!this.telling && !this.timer) this.begin();
  }

  /** Tells what is left, if the database takes it. */
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

/** Its commit does not wait for the disk: it leaves nothing behind. */
const notifyChanges = (notices: string[]) => sql`
  SELECT set_config('synchronous_commit', 'off', true), pg_notify(${CHANGES}, notice)
  FROM unnest(${notices}::text[]) AS n(notice)`;

/** One line a project: its name and the kinds, with blanks between. */
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

/** The content of a notice without kinds of other versions; null when everything may have changed. */
export function changesIn(notice: string): NotedChanges | null {
  if (notice === ANY_PROJECT) return null;
  return new Map(
    notice.split('\n').map((line) => {
      const [projectId, ...kinds] = line.split(' ');
      return [projectId!, new Set(KINDS.filter((kind) => kinds.includes(kind)))];
    }),
  );
}
