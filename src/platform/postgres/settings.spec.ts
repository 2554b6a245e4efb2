import { ownResources, settingsFor } from './settings.js';

const GIB = 1024 ** 3;
const at = (memoryGib: number, cores = 2, diskGib = 1000) =>
  settingsFor({ memoryBytes: memoryGib * GIB, cores, diskBytes: diskGib * GIB });

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

it('keeps its log to a tenth of the disk', () => {
  expect(at(8, 2, 10)).toMatchObject({ max_wal_size: '1024MB', min_wal_size: '256MB' });
  expect(at(8, 2, 2)).toMatchObject({ max_wal_size: '205MB', min_wal_size: '102MB' });
  expect(at(8, 2, 0.1)).toMatchObject({ max_wal_size: '64MB', min_wal_size: '32MB' });
});

it('keeps what a statement sorts on disk to an eighth of it', () => {
  expect(at(8, 2, 80).temp_file_limit).toBe('10240MB');
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
