import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { basic, send } from '../support/app.js';
import { aStart } from '../support/factories.js';
import { aFolder, watched } from '../support/server.js';
import { until } from '../support/until.js';

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

  it('holds what was built, and no sources, maps or tools to build', () => {
    const files = readdirSync(join(app, 'node_modules/skein'), {
      recursive: true,
      encoding: 'utf8',
    }).filter((name) => !name.includes('node_modules'));
    expect(files).toContain('dist/console/index.html');
    const text = (name: string) => readFileSync(join(app, 'node_modules/skein', name), 'utf8');
    expect(text('NOTICES')).toMatch(/^express \d+\.\d+\.\d+: MIT\n\n.*Copyright/ms);
    const sbom = JSON.parse(text('sbom.cdx.json'));
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'skein' } },
    });
    const listed = sbom.components.map((one: any) => `${one.name}@${one.version}`);
    const { dependencies } = JSON.parse(text('package.json')) as {
      dependencies: Record<string, string>;
    };
    for (const [name, version] of Object.entries(dependencies))
      expect(listed).toContain(`${name}@${version}`);
    expect(sbom.components.some((one: any) => one.name === 'jest')).toBe(false);
    expect(files.filter((name) => /^(src|test|bench)|\.(map|tsx?)$/.test(name))).toEqual([]);
    expect(readdirSync(join(app, 'node_modules'))).not.toContain('typescript');
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
