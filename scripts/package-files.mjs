// Writes what `npm pack` puts beside the build, before it packs: NOTICES, the licences of everything that runs with their texts, and
// sbom.cdx.json, the packages that run as CycloneDX 1.5, in the versions of package-lock.json. Asks no registry.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

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
    '--omit=dev',
    '--package-lock-only',
  ),
);
sbom.metadata.component.name = 'skein'; // npm takes the name of the folder
writeFileSync('sbom.cdx.json', `${JSON.stringify(sbom, null, 1)}\n`);
