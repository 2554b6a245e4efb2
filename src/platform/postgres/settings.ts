import { availableParallelism, totalmem } from 'node:os';
import { LOG_LINE_PREFIX } from './server-log.js';

const MIB = 1024 * 1024;

/** Resources of the machine, or of its container. */
export interface Resources {
  memoryBytes: number;
  cores: number;
  /** Size of the disk that the server writes on. */
  diskBytes: number;
}

/** Returns the resources of this process, within the limit of its control group. */
export function ownResources(): Omit<Resources, 'diskBytes'> {
  const limit = process.constrainedMemory();
  return {
    memoryBytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem(),
    cores: availableParallelism(),
  };
}

/** Settings that differ from PostgreSQL's defaults on every machine. None of them reduces durability. */
const FIXED = {
  // several Node processes, each with a pool, and the command line tools
  max_connections: '200',
  // lets vacuum keep up with ingest: the default pace is meant for disks of 2005
  autovacuum_vacuum_cost_limit: '2000',
  // a checkpoint would write a file for them, and PostgreSQL ends when the disk has no room for that file
  max_active_replication_origins: '0',
  password_encryption: 'scram-sha-256',
  unix_socket_permissions: '0700',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // a refused statement or row carries user data; the application reports the refusal
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_line_prefix: LOG_LINE_PREFIX,
};

/**
 * Returns the settings of the embedded server, which shares the machine with Node. bench/postgres-settings.mjs measures
 * them against PostgreSQL's defaults.
 */
export function settingsFor({ memoryBytes, cores, diskBytes }: Resources): Record<string, string> {
  const part = (divisor: number, min: number, max: number) =>
    Math.min(max, Math.max(min, memoryBytes / MIB / divisor));
  const share = (...of: Parameters<typeof part>) => `${Math.round(part(...of))}MB`;
  // room for ingest between two checkpoints; a recovery may have to read as much, and the disk has to hold it
  const walMib = Math.max(64, Math.min(part(4, 1024, 8192), diskBytes / MIB / 10));
  return {
    ...FIXED,
    // PostgreSQL recommends a quarter for a machine of its own
    shared_buffers: share(8, 32, 8192),
    effective_cache_size: share(2, 128, 1024 * 1024),
    // per sort or hash of each statement; few statements run at once
    work_mem: share(512, 4, 64),
    // per process: a sort of large values must not fill the disk
    temp_file_limit: `${Math.max(1024, Math.round(diskBytes / MIB / 8))}MB`,
    maintenance_work_mem: share(32, 32, 1024),
    max_wal_size: `${Math.round(walMib)}MB`,
    min_wal_size: `${Math.round(Math.min(256, walMib / 2))}MB`,
    max_parallel_workers: String(cores),
    max_parallel_workers_per_gather: String(Math.min(2, Math.floor(cores / 2))),
  };
}
