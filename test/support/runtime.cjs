const { createRequire } = require('node:module');
const path = require('node:path');
const { default: Runtime } = require('jest-runtime');

/** Loaded modules of src/, keyed by path without extension. */
const loaded = new Map();

/**
 * Loads packages with Node itself, once for all suites of a process, as the service does. Modules of src/ are loaded
 * once too: loading them took a third of a suite's time.
 *
 * A suite with `isApart` (`environment.cjs`) has modules of its own, and so has code in `jest.isolateModules`.
 */
module.exports = class LoadedOnce extends Runtime {
  constructor(config, environment, ...others) {
    super(config, environment, ...others);
    this.source = path.resolve(config.rootDir, 'src') + path.sep;
    this.isApart = environment.isApart;
  }

  requireModuleOrMock(from, name) {
    if (!/^([./]|node:|@jest\/globals$)/.test(name)) return createRequire(from)(name);
    const file = path.resolve(path.dirname(from), name).replace(/[.][jt]s$/, '');
    if (this.isApart || this.registries.isIsolated() || !file.startsWith(this.source))
      return super.requireModuleOrMock(from, name);
    if (!loaded.has(file)) loaded.set(file, super.requireModuleOrMock(from, name));
    return loaded.get(file);
  }
};
