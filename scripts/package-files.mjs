// Writes the files that `npm pack` adds to the build. NOTICES contains the licences of all packages that run.
// sbom.cdx.json lists these packages in CycloneDX 1.5, with the versions of package-lock.json. Needs no registry.
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
    '--legacy-peer-deps', // an optional peer of a development package may have another version
  ),
);
// With --omit=dev, npm 11 also leaves out packages that development packages need too, such as ajv.
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const running = new Set(
  Object.entries(packages)
    .filter(([folder, { dev, link }]) => folder.includes('node_modules/') && !dev && !link)
    .map(([folder, { version }]) => `${folder.split('node_modules/').at(-1)}@${version}`),
);
const root = sbom.metadata.component;
root.name = 'skein'; // npm uses the name of the folder
sbom.components = sbom.components.filter(({ name, version }) => running.has(`${name}@${version}`));
const kept = new Set([root, ...sbom.components].map((component) => component['bom-ref']));
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }));
writeFileSync('sbom.cdx.json', `${JSON.stringify(sbom, null, 1)}\n`);
