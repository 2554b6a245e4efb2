import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs `work` with a temporary folder, deletes the folder, and returns the result of `work`.
 * @template T
 * @param {(folder: string) => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function inTemporaryFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'skein-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
