import { ownResources, settingsFor } from './settings.js';

const GIB = 1024 ** 3;
const at = (memoryGib: number, cores = 2) => settingsFor({ memoryBytes: memoryGib * GIB, cores });

it('takes a share of the memory, between bounds', () => {
  expect(at(0.25)).toMatchObject({
    shared_buffers: '32MB',
    work_mem: '4MB',
    max_wal_size: '1024MB',
  });
  expect(at(8)).toMatchObject({
    shared_buffers: '1024MB',
    effective_cache_size: '4096MB',
    work_mem: '16MB',
    maintenance_work_mem: '256MB',
    max_wal_size: '2048MB',
  });
  expect(at(512)).toMatchObject({
    shared_buffers: '8192MB',
    work_mem: '64MB',
    maintenance_work_mem: '1024MB',
    max_wal_size: '8192MB',
  });
});

it('has no parallel query on a single core', () => {
  expect(at(1, 1).max_parallel_workers_per_gather).toBe('0');
  expect(at(1, 16).max_parallel_workers_per_gather).toBe('2');
});

it('knows what this process may use', () => {
  const { memoryBytes, cores } = ownResources();
  expect(memoryBytes).toBeGreaterThan(64 * 1024 ** 2);
  expect(memoryBytes).toBeLessThan(2 ** 50);
  expect(cores).toBeGreaterThan(0);
});
