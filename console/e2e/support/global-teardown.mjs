import { rmSync } from 'node:fs';

export default async () => {
  if (globalThis.testBrowserFolder)
    rmSync(globalThis.testBrowserFolder, { recursive: true, force: true });
  await globalThis.stopTestServer();
};
