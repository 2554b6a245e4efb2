import { availableParallelism } from 'node:os';
import { jsc } from './scripts/swc.mjs';

/** Under Jest's CommonJS mode swc turns our files into CommonJS. Packages are loaded as they are, by `runtime`. */
const swc = {
  swcrc: false,
  sourceMaps: 'inline',
  jsc,
  module: { type: 'commonjs' },
};

const base = {
  testEnvironment: '<rootDir>/test/support/environment.cjs',
  runtime: '<rootDir>/test/support/runtime.cjs',
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
};

/** Over the real service and a real PostgreSQL. */
const e2e = {
  ...base,
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
};

/**
 * `npm test` runs the projects `unit` and `e2e`. `npm run test:long` runs `long`, which starts and kills whole processes, fills
 * disks, or waits, and `console`, which opens browsers.
 * @type {import('jest').Config}
 */
export default {
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/console/src/**/*.spec.ts'],
    },
    { ...e2e, displayName: 'e2e', testMatch: ['<rootDir>/test/**/*.e2e-spec.ts'] },
    { ...e2e, displayName: 'long', testMatch: ['<rootDir>/test/**/*.long-spec.ts'] },
    {
      ...base,
      displayName: 'console',
      testMatch: ['<rootDir>/console/e2e/**/*.long-spec.ts'],
      globalSetup: '<rootDir>/console/e2e/support/global-setup.mjs',
      globalTeardown: '<rootDir>/console/e2e/support/global-teardown.mjs',
    },
  ],
  // Tests wait for conditions: this ends one that waits for ever. At a load of 18 on two cores test/proof took 278 s.
  testTimeout: 600_000,
  // The tests also wait, for databases and processes of their own: three workers keep two cores busy.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  // A worker that has nothing open ends within a millisecond, but the system takes half a second to free its 400 MB on a
  // busy machine, and Jest takes more than its own 500 ms for a leak.
  workerGracefulExitTimeout: 10_000,
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  reporters: ['default', '<rootDir>/test/support/counting-reporter.mjs'],
};
