// A browser for the scripts that measure pages.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

/** Opens the browser of `CHROMIUM`, or that of an npm package, unpacked into a folder that `close` removes. */
export async function openBrowser() {
  const folder = mkdtempSync(join(tmpdir(), 'skein-browser-'));
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder; // the package unpacks into this folder
  const executablePath =
    process.env.CHROMIUM ?? (await (await import('@sparticuz/chromium')).default.executablePath());
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  const close = async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { browser, close };
}

/** Opens a page with empty caches that counts the transferred bytes. Close its context afterwards. */
export async function newPage(browser, { width = 1440, theme = 'light' } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  const wire = { bytes: 0, requests: 0 };
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
    wire.bytes += encodedDataLength;
    wire.requests++;
  });
  return { page, wire, devtools };
}

/** Signs a page in with a key. */
export async function signIn(page, url, key) {
  const answer = await page.context().request.post(`${url}/console/login`, {
    headers: { 'x-skein-console': '1', authorization: `Bearer ${key}` },
  });
  if (!answer.ok()) throw new Error(`not signed in: ${answer.status()}`);
}

/** Time to wait for loads in the background. */
const SETTLE_MS = 1500;

/** Opens a page. Returns the milliseconds until an element exists, and the bytes transferred a little later. */
export async function timeTo(page, wire, url, selector) {
  await page.addInitScript((wanted) => {
    const look = () => {
      if (document.querySelector(wanted)) globalThis.seenAt = performance.now();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, selector);
  await page.goto(url, { waitUntil: 'commit' });
  await page.locator(selector).first().waitFor({ state: 'attached' });
  await page.waitForTimeout(SETTLE_MS);
  return { ms: await page.evaluate(() => globalThis.seenAt), ...wire };
}

const FRAMES = 300;

/** Scrolls an element from top to end. Returns the milliseconds between frames, sorted. */
export const scrolled = (page, selector) =>
  page.evaluate(
    async ({ selector: wanted, frames }) => {
      const element = document.querySelector(wanted);
      const nextFrame = () => new Promise(requestAnimationFrame);
      const step = (element.scrollHeight - element.clientHeight) / frames;
      const times = [];
      let before = await nextFrame();
      for (let n = 1; n <= frames; n++) {
        element.scrollTop = step * n;
        const now = await nextFrame();
        times.push(now - before);
        before = now;
      }
      return times.toSorted((a, b) => a - b);
    },
    { selector, frames: FRAMES },
  );

/** MB of the page's JavaScript heap after a garbage collection. */
export async function heapOf(devtools) {
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
