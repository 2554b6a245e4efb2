import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/database.js';
import { type DeclaredName, declarations } from '../declared-name.js';
import { unavailable } from '../errors.js';
import { AuditEvent } from './audit-event.entity.js';

/** What was done. A feature declares its own where it does them. */
export type AuditAction = DeclaredName<'action'>;
export const { names: ACTIONS, declare: auditAction } = declarations('action');

/** Of a command, which the service does not load. */
export const BACKUP_CREATE = auditAction('backup.create');

/** The actor: a key, a person (who may act by a key of theirs), or a user of the operating system. */
export interface Actor {
  keyId: string | null;
  userName: string;
  userId?: string | null;
}

/**
 * One event. `refTarget` and `detail` say what was changed: ids, names of objects, counts. They hold no secret and no client
 * data, because events outlive what they record.
 */
export interface NewAuditEvent {
  action: AuditAction;
  by: Actor;
  /** Absent when it concerns no single project. */
  projectId?: string;
  target?: string | null;
  /** Of the key that the event is about: who may see it. */
  scopes?: readonly string[] | null;
  detail?: object;
}

const insertEvent = (
  database: Database,
  { action, by, projectId = '', target = null, scopes = null, detail = {} }: NewAuditEvent,
) =>
  database
    .repository(AuditEvent)
    .createQueryBuilder()
    .insert()
    .updateEntity(false)
    .values({
      projectId,
      id: uuidv7(),
      action,
      // a person without a key is known by their own id
      keyId: by.keyId === by.userId ? null : by.keyId,
      userId: by.userId ?? null,
      userName: by.userName,
      target,
      // of nobody's scopes: shown to admins of everything alone, where none would be shown to everybody
      scopes: scopes?.length ? [...scopes] : null,
      detail,
    });

/** Adds an event, in the transaction of the change that it records. */
export const addEvent = (database: Database, event: NewAuditEvent) =>
  insertEvent(database, event).execute();

/** Adds an event of what changes nothing, also while the database takes no writes because its disk is nearly full. */
export const addEventAlone = (database: Database, event: NewAuditEvent) =>
  database.urgently(() => database.transaction(() => addEvent(database, event)));

/**
 * Adds an event of what is about to begin.
 * @throws ApiError `unavailable` when it cannot: what the audit cannot tell of does not begin
 */
export async function addEventBefore(database: Database, event: NewAuditEvent): Promise<void> {
  try {
    await addEventAlone(database, event);
  } catch (error) {
    throw unavailable('the audit takes no event now, and this does not begin without one', error);
  }
}

/** Adds the first use of a key on a day, if no process has noted it: an index allows one. */
export const addKeyUse = (database: Database, event: NewAuditEvent) =>
  insertEvent(database, event).orIgnore().execute();
