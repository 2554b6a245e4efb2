import { lock, lockShared, projectLock } from '../database/advisory-locks.js';
import type { Database } from '../database/database.js';
import { ApiError } from '../errors.js';
import type { Sql } from '../query/sql.js';
import { LegalHold } from './legal-hold.entity.js';

/** Shared by each transaction that erases data of a project, so that none ends after a hold was set. */
const HOLDS = projectLock(0x686f6c64);

/** Waits for the transactions that erase data of the project. No other one begins before the end of this one. */
export const stopErasing = (projectId: string) => lock(HOLDS, projectId);
export const awaitHolds = (projectId: string) => lockShared(HOLDS, projectId);

/** A hold of a trace or of a thread: one of both is null. */
export type PartHold = Pick<LegalHold, 'traceId' | 'threadId'>;

/** Returns the kind of the held part, or null if the hold is of the whole project. */
export const heldKind = ({ traceId, threadId }: PartHold) =>
  traceId !== null ? 'trace' : threadId !== null ? 'thread' : null;

const isOfPart = (hold: PartHold) => heldKind(hold) !== null;

/** Returns the holds of the project, by name. Then none is set before the end of the transaction. */
async function holdsOf(database: Database, projectId: string): Promise<LegalHold[]> {
  await database.query(awaitHolds(projectId));
  return database.repository(LegalHold).find({ where: { projectId }, order: { name: 'ASC' } });
}

/** Returns a hold of the whole project, or undefined. */
export async function wholeHoldOf(database: Database, projectId: string) {
  return (await holdsOf(database, projectId)).find((hold) => !isOfPart(hold));
}

/** Returns a hold of the project, of a trace or of a thread, or undefined. */
export async function anyHoldOf(database: Database, projectId: string) {
  return (await holdsOf(database, projectId))[0];
}

/** Returns the holds of traces and threads. */
export async function partHoldsOf(database: Database, projectId: string): Promise<LegalHold[]> {
  return (await holdsOf(database, projectId)).filter(isOfPart);
}

/**
 * `isHit` asks whether the deletion would delete something of a hold.
 * @throws ApiError `legal_hold` when it would
 */
export async function assertNotHeld(
  database: Database,
  projectId: string,
  isHit: (hold: PartHold) => Sql<{ is_hit: boolean }>,
): Promise<void> {
  for (const hold of await partHoldsOf(database, projectId)) {
    const [row] = await database.query(isHit(hold));
    if (row!.is_hit) throw refusedBy(hold);
  }
}

export function refusedBy(hold: LegalHold): ApiError {
  const { projectId, name, traceId, threadId } = hold;
  const kind = heldKind(hold);
  const part = kind ? ` of the ${kind} ${JSON.stringify(traceId ?? threadId)}` : '';
  return new ApiError(
    'legal_hold',
    `${projectId} has the legal hold ${JSON.stringify(name)}${part}: nothing of it is deleted`,
  );
}
