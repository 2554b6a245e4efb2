require('reflect-metadata'); // before any class is decorated
const vm = require('node:vm');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** What packages keep on globalThis of decorated classes: it stays there for all suites, but those apart have their own. */
const DECORATED = ['classValidatorMetadataStorage', 'typeormMetadataArgsStorage'];
require('class-validator').getMetadataStorage();
require('typeorm').getMetadataArgsStorage();

const { compileFunction } = vm;
const exit = process.exit.bind(process);
/** What was compiled, by its file: the suites of a process share it, but each runs it for itself. */
const compiled = new Map();
// Jest compiles each file for the context of its suite, and again for each suite.
vm.compileFunction = (code, parameters, options) => {
  const known = compiled.get(options.filename);
  if (known?.code === code) return known.wrapper;
  const wrapper = compileFunction(code, parameters, { ...options, parsingContext: undefined });
  compiled.set(options.filename, { code, wrapper });
  return wrapper;
};

/**
 * Suites run among Node's own globals, as the service does. In a context of its own, which Jest's environment makes, each
 * use of a global such as `Math` or `Buffer` passes through a Proxy, which takes most of the time of a loop over bytes.
 * What a suite leaves on globalThis and in process.env goes with it. The docblock option `env` of a file
 * (`@jest-environment-options {"env": {…}}`) is in process.env before its code is loaded. `{"isApart": true}` is for a file
 * that leaves something behind in a module of ours.
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
