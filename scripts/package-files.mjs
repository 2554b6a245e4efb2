// Writes what `npm pack` puts beside the build, before it packs: NOTICES, the licences of everything that runs with their texts, and
// sbom.cdx.json, the packages that run as CycloneDX 1.5, in the versions of package-lock.json. Asks no registry.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const printed = (program, ...args) =>
  execFileSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    shell: process.platform === 'win32',
  });

writeFileSync('NOTICES', printed('node', 'scripts/notices.mjs'));

const sbom = JSON.parse(
  printed(
    'npm',
    'sbom',
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
    '--package-lock-only',
    '--legacy-peer-deps', // an optional peer of a package of the development may have another version
  ),
);
// With --omit=dev npm 11 leaves out what packages of the development need too, such as ajv.
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const running = new Set(
  Object.entries(packages)
    .filter(([folder, { dev, link }]) => folder.includes('node_modules/') && !dev && !link)
    .map(([folder, { version }]) => `${folder.split('node_modules/').at(-1)}@${version}`),
);
const root = sbom.metadata.component;
root.name = 'skein'; // npm takes the name of the folder
sbom.components = sbom.components.filter(({ name, version }) => running.has(`${name}@${version}`));
const kept = new Set([root, ...sbom.components].map((component) => component['bom-ref']));
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }));
writeFileSync('sbom.cdx.json', `${JSON.stringify(sbom, null, 1)}\n`);
