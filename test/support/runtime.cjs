const { createRequire } = require('node:module');
const { default: Runtime } = require('jest-runtime');

/** Loads packages as the service does, by Node and once for all suites of a process. Our own files are loaded for each. */
module.exports = class PackagesOnce extends Runtime {
  requireModuleOrMock(from, name) {
    const isPackage = !/^([./]|node:|@jest\/globals$)/.test(name);
    return isPackage ? createRequire(from)(name) : super.requireModuleOrMock(from, name);
  }
};
