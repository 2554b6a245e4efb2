import { lock, lockShared, projectLock } from '../database/advisory-locks.js';
import type { Database } from '../database/database.js';
import { LegalHold } from './legal-hold.entity.js';

/** Shared by each transaction that erases data of a project, so that none ends after a hold was set. */
const HOLDS = projectLock(0x686f6c64);

/** Waits for the transactions that erase data of the project. No other one begins before the end of this one. */
export const stopErasing = (projectId: string) => lock(HOLDS, projectId);
export const awaitHolds = (projectId: string) => lockShared(HOLDS, projectId);

/** Returns the name of a hold of the project, or null. Then none is set before the end of the transaction. */
export async function holdOf(database: Database, projectId: string): Promise<string | null> {
  await database.query(awaitHolds(projectId));
  const [hold] = await database
    .repository(LegalHold)
    .find({ where: { projectId }, order: { name: 'ASC' }, take: 1 });
  return hold?.name ?? null;
}
