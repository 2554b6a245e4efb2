// node scripts/notices.mjs > NOTICES prints the licences of all packages that run, with the texts in node_modules.
// Run it before scripts/slim.mjs, with the packages of the console installed. Exits with 1 when a package has no
// licence.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));

/** Packages that the sources of the console import. The build bundles them, and browsers receive them. */
const sources = readdirSync('console/src', { recursive: true, encoding: 'utf8' })
  .filter((file) => /(?<![.]spec)[.]tsx?$/.test(file))
  .map((file) => readFileSync(join('console/src', file), 'utf8'));
const bundled = Object.keys(packages.console.devDependencies).filter((name) =>
  sources.some((text) => text.includes(`from '${name}'`) || text.includes(`from '${name}/`)),
);

/** Returns the licence files of a package, or the end of its readme. */
function licenceText(folder) {
  const named = (pattern) => readdirSync(folder).filter((file) => pattern.test(file));
  const read = (file) => readFileSync(join(folder, file), 'utf8').trim();
  const files = named(/^(licen[cs]e|notice|copying|copyright)/i).map(read);
  const ends = named(/^readme/i).map((file) => /^#+ *Licen[cs]e[^]*/im.exec(read(file))?.[0] ?? '');
  return (files.length > 0 ? files : ends).join('\n\n');
}

console.log(
  'Skein is under the Apache License 2.0 (LICENSE). What it runs with has licences of its own.',
);
console.log(`\n${readFileSync('scripts/notices.postgresql.txt', 'utf8').trim()}`);
const run = ([folder, { dev, link }]) => folder.includes('node_modules/') && !dev && !link;
const folders = new Set(
  Object.entries(packages)
    .filter(run)
    .map(([folder]) => folder),
);
for (const name of bundled) folders.add(`node_modules/${name}`);
for (const folder of [...folders].toSorted()) {
  if (!existsSync(join(folder, 'package.json'))) continue; // a package for another platform
  const { name, version, license, licenses } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  const text = licenceText(folder);
  const licence =
    license ?? licenses?.map(({ type }) => type).join(', ') ?? (text && 'see its text');
  if (!licence) throw new Error(`${name} tells no licence`);
  console.log(`\n${'='.repeat(80)}\n${name} ${version}: ${licence}\n\n${text}`);
}
