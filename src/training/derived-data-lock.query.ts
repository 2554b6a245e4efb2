// SQL for advisory locks.
import { lock, lockShared, textLock } from '../platform/database/advisory-locks.js';
import type { Sql } from '../platform/query/sql.js';

/**
 * Protects the data derived from a project's calls. Deletions of calls share the lock. A transaction that adds
 * derived data takes it exclusively: a new build, the job of a build, or a checkpoint that may be trained on purged
 * calls. Lock order: the model first, then this lock.
 */
const DERIVED = textLock(0x6275696c);

export const callDeletionLock = (projectId: string): Sql => lockShared(DERIVED, projectId);
export const derivedDataLock = (projectId: string): Sql => lock(DERIVED, projectId);
