// Removes from node_modules what the service does not need to run: declarations, source maps, sources of libraries,
// static libraries, tests, documents, builds for other platforms, and the compiler that some packages list as a peer.
// For images only: node scripts/slim.mjs node_modules
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const [, , root] = process.argv;
const FILES = /\.(map|d\.[cm]?ts|[cm]?ts|tsx|a|la|h|md|markdown|flow|tsbuildinfo)$/i;
const LICENSES = /^(licen[cs]e|notice|copying)/i;
const FOLDERS = /^(__tests__|tests?|docs?|examples?|benchmarks?|\.github|man|pkgconfig)$/;
/** Packages that only builds or browsers need. */
const PACKAGES = ['typescript', '@types', 'typeorm/browser'];
/** Returns true when the folder is a package. A package with one of the names above is code, not tests or documents. */
const isPackage = (parent) => /(^|\/)node_modules(\/@[^/]+)?$/.test(parent);

/** Returns true for the folder of another platform in a package with one build for each: `prebuilds/linux-x64`. */
const isOfOthers = (folder, name) =>
  folder.endsWith('/prebuilds') && !name.startsWith(`${process.platform}-${process.arch}`);

for (const name of PACKAGES) rmSync(join(root, name), { recursive: true, force: true });
slim(root);

function slim(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const isNeedless =
        isOfOthers(folder, entry.name) ||
        (FOLDERS.test(entry.name) && !isPackage(folder) && !/\/(dist|lib|src|build)\//.test(path));
      if (isNeedless) rmSync(path, { recursive: true });
      else slim(path);
    } else if (FILES.test(entry.name) && !LICENSES.test(entry.name)) rmSync(path);
  }
}
