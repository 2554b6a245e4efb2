/* oxlint-disable no-underscore-dangle -- Node names its own hooks so */
const { createRequire, Module } = require('node:module');
const path = require('node:path');
const { default: Runtime } = require('jest-runtime');

const ROOT = path.resolve(__dirname, '../..');
const isSource = (file) =>
  file.startsWith(path.join(ROOT, 'src/')) || file === path.join(ROOT, 'ormconfig.ts');

/** Our files name each other as they are built, `./x.js`. */
const asWritten = (name) => (/^\.\.?\/.*\.js$/.test(name) ? name.replace(/js$/, 'ts') : name);

let transformer;
const sourceMaps = new Map();
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = (name, parent, ...rest) =>
  resolveFilename(parent?.filename?.endsWith('.ts') ? asWritten(name) : name, parent, ...rest);
Module._extensions['.ts'] = (module, file) => {
  const { code, sourceMapPath } = transformer.transform(file, {
    supportsDynamicImport: false,
    supportsExportNamespaceFrom: false,
    supportsStaticESM: false,
    supportsTopLevelAwait: false,
  });
  if (sourceMapPath) sourceMaps.set(file, sourceMapPath);
  module._compile(code, file);
};

/** What was loaded of src/ by the settings that it was loaded with: some are read while the code is loaded. */
const loadedBySettings = new Map();
let settingsInForce = '{}';
function loadWith(settings) {
  if (settings === settingsInForce) return;
  const loaded = Object.entries(require.cache).filter(([file]) => isSource(file));
  loadedBySettings.set(settingsInForce, loaded);
  for (const [file] of loaded) delete require.cache[file];
  Object.assign(require.cache, Object.fromEntries(loadedBySettings.get(settings) ?? []));
  settingsInForce = settings;
}

/**
 * Loads packages and what is in src/ as the service does: by Node, and once for all suites of a process whose settings are
 * the same. Suites and what is in test/ are loaded for each.
 */
module.exports = class LoadedOnce extends Runtime {
  constructor(...services) {
    super(...services);
    const [, environment, , scriptTransformer] = services;
    transformer = scriptTransformer;
    loadWith(JSON.stringify(environment.settings));
    for (const [file, map] of sourceMaps) this.getSourceMaps().set(file, map);
  }

  requireModuleOrMock(from, name) {
    const isPackage = !/^([./]|node:|@jest\/globals$)/.test(name);
    if (isPackage || isSource(path.resolve(path.dirname(from), asWritten(name))))
      return createRequire(from)(asWritten(name));
    return super.requireModuleOrMock(from, name);
  }
};
