import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/until.js';

const FIXTURE = 'test/fixtures/certificate';
/** Printed by `openssl x509 -enddate` for the certificate of the fixture: Nov 3 03:14:49 2126. */
const ENDS = 4_949_349_289;

describe('metrics of the system', () => {
  const host = createServer({
    cert: readFileSync(`${FIXTURE}/certificate.pem`),
    key: readFileSync(`${FIXTURE}/key.pem`),
  });
  let app: TestApp;
  let port: number;
  beforeAll(async () => {
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    port = (host.address() as AddressInfo).port;
    app = await startApp({
      OIDC_ISSUER: `https://localhost:${port}/people`,
      OIDC_CLIENT_ID: 'skein',
      PUBLIC_URL: 'http://127.0.0.1:0',
    });
  });
  afterAll(async () => {
    await app.close();
    host.close();
  });

  const metric = async (name: string) => {
    const text = await (await fetch(`${app.url}/metrics`)).text();
    const found = text.split('\n').find((line) => line.startsWith(`${name} `));
    return found === undefined ? undefined : Number(found.split(' ').at(-1));
  };

  it('tell when the certificate of a sign-in provider ends, although nobody trusts it', async () => {
    const name = `skein_certificate_expiry_timestamp_seconds{host="localhost:${port}"}`;
    await until(async () => (await metric(name)) !== undefined);
    expect(await metric(name)).toBe(ENDS);
  });

  it('tell how far the clocks are from one that nobody can set', async () => {
    const offset = (clock: string) => metric(`skein_clock_offset_seconds{clock="${clock}"}`);
    const before = (await offset('process'))!;
    expect(Math.abs((await offset('database'))! - before)).toBeLessThan(60);
    const { now } = Date;
    try {
      Date.now = () => now() + 3_600_000;
      expect((await offset('process'))! - before).toBeGreaterThan(3500);
    } finally {
      Date.now = now;
    }
  });

  it('tell the limit of the heap', async () => {
    expect(await metric('skein_memory_limit_bytes{what="heap"}')).toBeGreaterThan(256 * 2 ** 20);
  });
});
