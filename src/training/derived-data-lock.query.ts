// SQL: advisory locks.
import { lock, lockShared, textLock } from '../platform/database/advisory-locks.js';
import type { Sql } from '../platform/query/sql.js';

/**
 * What was made of a project's calls. Deletions of calls share it. Who adds to what was made takes it exclusively: a new build, its
 * job, and a checkpoint that may stand on purged calls. Who also locks a model does so first.
 */
const DERIVED = textLock(0x6275696c);

export const callDeletionLock = (projectId: string): Sql => lockShared(DERIVED, projectId);
export const derivedDataLock = (projectId: string): Sql => lock(DERIVED, projectId);
