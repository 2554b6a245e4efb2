const { createRequire } = require('node:module');
const path = require('node:path');
const { default: Runtime } = require('jest-runtime');

/** Modules of src/ that were loaded, by their files without the ending. */
const loaded = new Map();

/**
 * Loads packages as the service does, by Node and once for all suites of a process, and what is in src/ once too: to load it
 * took a third of the time of a suite. A suite that is apart (`environment.cjs`) has modules of its own, and so has what
 * runs in `jest.isolateModules`.
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
