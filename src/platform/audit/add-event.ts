import { IsNull, Raw } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/database.js';
import { type DeclaredName, declarations } from '../declared-name.js';
import { unavailable } from '../errors.js';
import { AuditEvent } from './audit-event.entity.js';
import { anyHoldOf, refusedBy, wholeHoldOf } from './legal-holds.js';

/** The name of an action. Each feature declares its own actions. */
export type AuditAction = DeclaredName<'action'>;
export const { names: ACTIONS, declare: auditAction } = declarations('action');

const deletions = new Map<AuditAction, typeof wholeHoldOf>();

/**
 * Declares an action that deletes data of a project. A legal hold of the project refuses it. A hold of a trace or
 * thread also refuses an action that deletes everything.
 */
export function deletionAction(name: string, { isOfAll = false } = {}): AuditAction {
  const action = auditAction(name);
  deletions.set(action, isOfAll ? anyHoldOf : wholeHoldOf);
  return action;
}

/** Declared here because it belongs to a command, which the service does not load. */
export const BACKUP_CREATE = auditAction('backup.create');

/** The actor: a key, a person (possibly with a personal key), or a user of the operating system. */
export interface Actor {
  keyId: string | null;
  userName: string;
  userId?: string | null;
}

/** Most ids in the detail of an event. Further ones are only counted: an event is kept for ever. */
export const MAX_AUDITED = 20;

/**
 * A new event. `target` and `detail` describe the change: ids, names of objects, counts. They contain no secret and
 * no client data, because events outlive the data that they describe.
 */
export interface NewAuditEvent {
  action: AuditAction;
  by: Actor;
  /** Absent when the event does not concern a single project. */
  projectId?: string;
  target?: string | null;
  /** Scopes of the key that the event is about. They decide who may see the event. */
  scopes?: readonly string[] | null;
  detail?: object;
}

/** A person without a key has their own id as key id. */
const keyOf = ({ keyId, userId }: Actor) => (keyId === userId ? null : keyId);

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
      keyId: keyOf(by),
      userId: by.userId ?? null,
      userName: by.userName,
      target,
      // without scopes it is null, which only admins of everything see; an empty list would be visible to everybody
      scopes: scopes?.length ? [...scopes] : null,
      detail,
    });

/**
 * Adds an event, in the transaction of the change that it records.
 * @throws ApiError `legal_hold` when a hold of the project forbids the change
 */
export async function addEvent(database: Database, event: NewAuditEvent): Promise<void> {
  const { action, projectId } = event;
  const hold = projectId && (await deletions.get(action)?.(database, projectId));
  if (hold) throw refusedBy(hold);
  await insertEvent(database, event).execute();
}

/** Adds an event without another change. It works even while writes are refused because the disk is nearly full. */
export const addEventAlone = (database: Database, event: NewAuditEvent) =>
  database.transaction({ isUrgent: true }, () => addEvent(database, event));

/**
 * Adds an event before its action begins. One of a client is not added if the last minute has an equal one: the events
 * stay for ever, and a reader may begin hundreds of actions a second.
 * @throws ApiError `unavailable` when it cannot be added: the action must not begin then
 */
export async function addEventBefore(database: Database, event: NewAuditEvent): Promise<void> {
  try {
    const isOfClient = event.by.keyId !== null || event.by.userId;
    if (isOfClient && (await wasJustAdded(database, event))) return;
    await addEventAlone(database, event);
  } catch (error) {
    throw unavailable(
      'the audit event cannot be stored now, so the operation did not start',
      error,
    );
  }
}

const wasJustAdded = (
  database: Database,
  { action, by, projectId = '', target = null, detail = {} }: NewAuditEvent,
) =>
  database.repository(AuditEvent).existsBy({
    projectId,
    action,
    userName: by.userName,
    keyId: keyOf(by) ?? IsNull(),
    userId: by.userId ?? IsNull(),
    target: target ?? IsNull(),
    detail: Raw((column) => `CAST(${column} AS text) = :detail`, {
      detail: JSON.stringify(detail),
    }),
    createdAt: Raw((column) => `${column} > statement_timestamp() - interval '1 minute'`),
  });

/** Adds the first use of a key on a day, unless another process has done so. A unique index allows one. */
export const addKeyUse = (database: Database, event: NewAuditEvent) =>
  insertEvent(database, event).orIgnore().execute();
