// Runs as plain Node. Sets SKEIN_TEST_BROWSER to the path of a browser: `CHROMIUM`, or the browser of an npm package,
// unpacked into a folder of the run.
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

/** The package contains a binary for Linux on x64 only. */
async function unpacked() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'skein-chromium-'));
  globalThis.testBrowserFolder = folder;
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder; // the package unpacks into this folder
  const { default: chromium } = await import('@sparticuz/chromium');
  const path = await chromium.executablePath();
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  return path;
}
