require('reflect-metadata'); // before any class is decorated
const vm = require('node:vm');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** Registries of decorated classes on globalThis. All suites of a process share them, except suites with `isApart`. */
const DECORATED = ['classValidatorMetadataStorage', 'typeormMetadataArgsStorage'];
require('class-validator').getMetadataStorage();
require('typeorm').getMetadataArgsStorage();

const { compileFunction } = vm;
const exit = process.exit.bind(process);
/** Compiled functions, keyed by file. All suites of a process share them, but each runs them itself. */
const compiled = new Map();
// Jest would compile each file again for each suite.
vm.compileFunction = (code, parameters, options) => {
  const known = compiled.get(options.filename);
  if (known?.code === code) return known.wrapper;
  const wrapper = compileFunction(code, parameters, { ...options, parsingContext: undefined });
  compiled.set(options.filename, { code, wrapper });
  return wrapper;
};

/**
 * Runs suites with Node's own globals, as the service does. Jest's environment has a context of its own, in which each
 * use of a global such as `Math` or `Buffer` goes through a Proxy. That takes most of the time of a loop over bytes.
 *
 * Changes of globalThis and process.env are undone after each suite. The docblock option `env` of a file
 * (`@jest-environment-options {"env": {…}}`) is set in process.env before its code is loaded. `{"isApart": true}` is
 * for a file that changes the state of one of our modules.
 */
module.exports = class SameContext {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;

  constructor({ projectConfig: config }) {
    this.fakeTimersModern = new ModernFakeTimers({ config, global: globalThis });
    this.globals = Object.getOwnPropertyDescriptors(globalThis);
    this.env = { ...process.env };
    const { env, isApart = env !== undefined } = config.testEnvironmentOptions;
    this.isApart = isApart || config.displayName.name === 'unit';
    if (this.isApart) for (const name of DECORATED) delete globalThis[name];
    Object.assign(process.env, env);
  }

  getVmContext() {
    return globalThis;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    for (const name of Object.getOwnPropertyNames(globalThis))
      if (!Object.hasOwn(this.globals, name)) delete globalThis[name];
    Object.defineProperties(globalThis, this.globals);
    for (const name of Object.keys(process.env)) if (!(name in this.env)) delete process.env[name];
    Object.assign(process.env, this.env);
    process.exit = exit;
    this.global = undefined;
  }
};
