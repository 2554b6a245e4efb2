import { once } from 'node:events';
import { type ClientRequest, request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { bytesDigest } from '../../src/tracing/objects/digests/digest.js';
import { type Answer, basic, startApp, type TestApp } from '../support/app.js';
import { until } from '../support/until.js';
import { FilesService } from '../../src/tracing/objects/files/files.service.js';
import { StagedUploads } from '../../src/platform/database/staged-uploads.js';

const PROJECT = 'acme/demo';
const MIB = 1024 * 1024;
let app: TestApp;

beforeAll(async () => {
  app = await startApp({ DATABASE_POOL_SIZE: '4' });
});
afterAll(() => app.close());

type Part = [name: string, value: string | Uint8Array<ArrayBuffer>];

/** Makes a multipart body. Bytes become a file named `blob`, which is the name that clients use. */
function form(parts: Part[]): FormData {
  const data = new FormData();
  for (const [name, value] of parts)
    if (typeof value === 'string') data.append(name, value);
    else data.append(name, new Blob([value]), 'blob');
  return data;
}

async function create(
  parts: Part[] | string | Buffer<ArrayBuffer>,
  { key = app.key, headers = {}, path = '/file/create' } = {},
): Promise<Pick<Answer, 'status' | 'body'>> {
  const response = await fetch(app.url + path, {
    method: 'POST',
    headers: { authorization: basic(key), ...headers },
    body: Array.isArray(parts) ? form(parts) : parts,
  });
  return { status: response.status, body: await response.json() };
}

const upload = (bytes: Uint8Array<ArrayBuffer>, project_id = PROJECT) =>
  create([
    ['project_id', project_id],
    ['file', bytes],
  ]);

async function content(digest: string, { project_id = PROJECT, path = '/file/content' } = {}) {
  const response = await fetch(app.url + path, {
    method: 'POST',
    headers: { authorization: basic(app.key), 'content-type': 'application/json' },
    body: JSON.stringify({ project_id, digest }),
  });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

/** Seed of `someBytes`: no two files share bytes, and no file repeats itself. */
let seed = 1;
function someBytes(length: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(length);
  let state = seed++ * 2_654_435_761;
  for (let i = 0; i + 4 <= length; i += 4) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes.writeInt32LE(state, i);
  }
  return bytes;
}

const chunksOf = async (project_id: string): Promise<number> =>
  (
    await app.query('SELECT count(*)::int AS n FROM file_chunks WHERE project_id = $1', [
      project_id,
    ])
  )[0].n;

const CHUNK = 256 * 1024;

describe('POST /file/create and /file/content', () => {
  it('answer the digest that clients compute, and the bytes', async () => {
    const { body } = await upload(Buffer.from('hello'));
    expect(body).toEqual({ digest: 'LPJNulXwow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ' });
    const answer = await content(body.digest);
    expect(answer.bytes.toString()).toBe('hello');
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('content-length')).toBe('5');
  });

  it('are known by their other names too', async () => {
    const { body } = await create(
      [
        ['project_id', PROJECT],
        ['file', Buffer.from('alias')],
      ],
      { path: '/files/create' },
    );
    expect((await content(body.digest, { path: '/files/content' })).bytes.toString()).toBe('alias');
  });

  it.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1, 5 * CHUNK + 7])(
    'keep %d bytes, stored once',
    async (length) => {
      const bytes = someBytes(length);
      const project_id = `acme/of-${length}`;
      for (let i = 0; i < 2; i++) {
        const { status, body } = await upload(bytes, project_id);
        expect({ status, body }).toEqual({ status: 200, body: { digest: bytesDigest(bytes) } });
      }
      const answer = await content(bytesDigest(bytes), { project_id });
      expect(answer.bytes.equals(bytes)).toBe(true);
      expect(await chunksOf(project_id)).toBe(Math.max(1, Math.ceil(length / CHUNK)));
    },
  );

  it.each([10, 3 * CHUNK])('take the project behind %d bytes of file', async (length) => {
    const bytes = someBytes(length);
    const project_id = `acme/behind-${length}`;
    const answer = await create([
      ['odd', 'ignored'],
      ['odd', Buffer.from('ignored too')],
      ['file', bytes],
      ['project_id', project_id],
      ['expected_digest', bytesDigest(bytes)],
    ]);
    expect(answer.status).toBe(200);
    expect((await content(answer.body.digest, { project_id })).bytes.equals(bytes)).toBe(true);
    expect(await chunksOf('')).toBe(0);
  });

  it('store the same bytes once when they come at once', async () => {
    const bytes = someBytes(3 * CHUNK);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => upload(bytes, 'acme/at-once')),
    );
    for (const { body } of answers) expect(body).toEqual({ digest: bytesDigest(bytes) });
    expect(await chunksOf('acme/at-once')).toBe(3);
  });

  it('take more large uploads than there are connections', async () => {
    const files = Array.from({ length: 12 }, () => someBytes(3 * CHUNK));
    const answers = await Promise.all(files.map((bytes) => upload(bytes)));
    expect(answers.map(({ body }) => body.digest)).toEqual(files.map(bytesDigest));
  });

  it('take a compressed body', async () => {
    const boundary = 'x-boundary';
    const bytes = someBytes(1000);
    const body = Buffer.concat([
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="project_id"\r\n\r\n${PROJECT}\r\n` +
          `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="blob"\r\n\r\n`,
      ),
      bytes,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]);
    const headers = {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-encoding': 'gzip',
    };
    expect((await create(gzipSync(body), { headers })).body).toEqual({
      digest: bytesDigest(bytes),
    });
    const broken = await create(body, { headers });
    expect(broken).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    const unknown = await create(body, { headers: { ...headers, 'content-encoding': 'zip' } });
    expect(unknown).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
  });

  it('keep the bytes of a project from another one', async () => {
    const { body } = await upload(Buffer.from('private'), 'acme/one');
    expect((await content(body.digest, { project_id: 'acme/two' })).status).toBe(404);
  });
});

describe('POST /file/create', () => {
  it.each([CHUNK / 2, 3 * CHUNK])(
    'answers 409 when the digest of %d bytes is not the expected one, and stores nothing',
    async (length) => {
      const project_id = `acme/expects-${length}`;
      const answer = await create([
        ['project_id', project_id],
        ['file', someBytes(length)],
        ['expected_digest', 'other'],
      ]);
      expect(answer).toMatchObject({ status: 409, body: { code: 'conflict' } });
      expect(await chunksOf(project_id)).toBe(0);
    },
  );

  it('takes 100 MiB and refuses a byte more, leaving nothing', async () => {
    const bytes = someBytes(100 * MIB + 1);
    const refused = await upload(bytes, 'acme/large');
    expect(refused).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect(refused.body.detail).toContain(String(100 * MIB));
    expect(await chunksOf('acme/large')).toBe(0);
    const { body } = await upload(bytes.subarray(0, 100 * MIB), 'acme/large');
    expect(body.digest).toBe(bytesDigest(bytes.subarray(0, 100 * MIB)));
  });

  it.each<[string, Part[]]>([
    ['project_id', [['file', Buffer.from('x')]]],
    ['project_id', [['file', someBytes(3 * CHUNK)]]],
    [
      'project_id',
      [
        ['project_id', 'acme'],
        ['file', Buffer.from('x')],
      ],
    ],
    [
      'project_id',
      [
        ['file', someBytes(3 * CHUNK)],
        ['project_id', ''],
      ],
    ],
    ['file', [['project_id', PROJECT]]],
    [
      'file',
      [
        ['project_id', PROJECT],
        ['file', 'text, not a file'],
      ],
    ],
    [
      'file',
      [
        ['project_id', PROJECT],
        ['file', Buffer.from('one')],
        ['file', Buffer.from('two')],
      ],
    ],
  ])('refuses a bad %s', async (path, parts) => {
    const before = await chunksOf(PROJECT);
    const answer = await create(parts);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors[0].path).toBe(path);
    expect(await chunksOf(PROJECT)).toBe(before);
    expect(await chunksOf('')).toBe(0);
  });

  it.each<[string, number, Part[]]>([
    [
      'a foreign project',
      403,
      [
        ['project_id', 'other/project'],
        ['file', someBytes(900_000)],
      ],
    ],
    [
      'a malformed project',
      400,
      [
        ['project_id', 'acme'],
        ['file', someBytes(900_000)],
      ],
    ],
    [
      'two projects',
      403,
      [
        ['project_id', PROJECT],
        ['project_id', 'other/project'],
        ['file', someBytes(900_000)],
      ],
    ],
    [
      'two files',
      400,
      [
        ['project_id', PROJECT],
        ['file', someBytes(900_000)],
        ['file', someBytes(900_000)],
      ],
    ],
    [
      'a header that is too long',
      400,
      [
        ['project_id', PROJECT],
        ['file', someBytes(900_000)],
        ['x'.repeat(100_000), 'y'],
      ],
    ],
  ])('refuses %s with %i while the file arrives, and lives on', async (_, status, parts) => {
    const key = await app.aKey('writer', [PROJECT]);
    expect((await create(parts, { key })).status).toBe(status);
    expect((await upload(Buffer.from('next'))).status).toBe(200);
  });

  it.each([
    ['application/json', '{}', 415, 'unsupported_media_type'],
    ['multipart/form-data', 'x', 400, 'invalid_request'],
    ['multipart/form-data; boundary=b', 'x', 400, 'invalid_request'],
    [
      'multipart/form-data; boundary=b',
      '--b\r\ncontent-disposition: form-data; name="file"; filename="blob"\r\n\r\ncut',
      400,
      'invalid_request',
    ],
  ])('refuses a body of type %s that is %j', async (type, body, status, code) => {
    const answer = await create(body, { headers: { 'content-type': type } });
    expect(answer).toMatchObject({ status, body: { code } });
  });

  /** Sends the first chunks of a file in a form, and then waits. */
  function stalled(behind = ''): ClientRequest {
    const boundary = 'x-boundary';
    const sent = httpRequest(`${app.url}/file/create`, {
      method: 'POST',
      headers: {
        authorization: basic(app.key),
        'content-type': `multipart/form-data; boundary=${boundary}`,
      },
    });
    sent.on('error', () => {});
    sent.write(
      `--${boundary}\r\ncontent-disposition: form-data; name="project_id"\r\n\r\nacme/gone\r\n` +
        `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="blob"\r\n\r\n`,
    );
    sent.write(someBytes(6 * CHUNK));
    if (behind) sent.write(`\r\n--${boundary}${behind}`);
    return sent;
  }

  it('leaves nothing when clients go away, and connections for others while they linger', async () => {
    const requests = Array.from({ length: 6 }, () => stalled());
    await until(async () => (await staging()) === 6);
    expect((await upload(Buffer.from('meanwhile'))).status).toBe(200);
    expect((await upload(someBytes(3 * CHUNK))).status).toBe(200);
    expect(await staging()).toBe(6);
    for (const sent of requests) sent.destroy();
    await until(async () => (await staging()) === 0);
    expect((await upload(someBytes(3 * CHUNK))).status).toBe(200);
    expect(await chunksOf('acme/gone')).toBe(0);
  });

  it.each(['', '\r\ncontent-disposition: form-data; name="odd"\r\n\r\n'])(
    'gives up on clients that stall in the file (and %j), and serves who waits behind them',
    async (behind) => {
      const files = app.app.get(FilesService);
      const usual = files.stalledAfterMs;
      files.stalledAfterMs = 500;
      const requests = Array.from({ length: 6 }, () => stalled(behind));
      const answers = requests.map(async (sent) => {
        const [response] = await once(sent, 'response');
        const body = JSON.parse(await text(response));
        return { status: response.statusCode, body };
      });
      const waiting = upload(someBytes(3 * CHUNK));
      for (const answer of await Promise.all(answers))
        expect(answer).toMatchObject({
          status: 408,
          body: { code: 'request_timeout', detail: 'the body comes too slowly' },
        });
      expect((await waiting).status).toBe(200);
      files.stalledAfterMs = usual;
      for (const sent of requests) sent.destroy();
      await until(async () => (await staging()) === 0);
      expect(await chunksOf('acme/gone')).toBe(0);
    },
  );

  it('shows nothing of what a dead process staged, which is swept', async () => {
    const id = '019a0000-0000-7000-8000-000000000001';
    await app.query(`INSERT INTO uploads VALUES ('acme/dead', $1, now() - interval '2 hours')`, [
      id,
    ]);
    await app.query(`INSERT INTO file_chunks VALUES ('acme/dead', $1, 0, 'x')`, [id]);
    const lingering = stalled();
    await until(async () => (await staging()) === 2);
    await app.app.get(StagedUploads).sweep();
    expect(await staging()).toBe(1);
    expect(await chunksOf('acme/dead')).toBe(0);
    lingering.destroy();
    await until(async () => (await staging()) === 0);
  });

  /** The number of unfinished uploads. */
  const staging = async (): Promise<number> =>
    (await app.query('SELECT count(*)::int AS n FROM uploads'))[0].n;
});

describe('POST /file/content', () => {
  it('answers 404 for a file that is not stored', async () => {
    expect((await content('none')).status).toBe(404);
  });

  it.each([
    ['project_id', { digest: 'x' }],
    ['digest', { project_id: PROJECT }],
    ['digest', { project_id: PROJECT, digest: 7 }],
  ])('refuses a bad %s', async (path, body) => {
    const answer = await app.post('/file/content', body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].path).toBe(path);
  });

  it('keeps no connection while its clients are slow, and cuts the answer when a chunk is missing', async () => {
    const bytes = someBytes(40 * CHUNK);
    const { body } = await upload(bytes, 'acme/slow');
    const slow = await Promise.all(
      Array.from({ length: 8 }, () =>
        fetch(`${app.url}/file/content`, {
          method: 'POST',
          headers: { authorization: basic(app.key), 'content-type': 'application/json' },
          body: JSON.stringify({ project_id: 'acme/slow', digest: body.digest }),
        }),
      ),
    );
    expect(slow.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await upload(Buffer.from('meanwhile'))).status).toBe(200);
    await app.query(`DELETE FROM file_chunks WHERE project_id = 'acme/slow' AND chunk_index = 39`);
    for (const response of slow) await expect(response.arrayBuffer()).rejects.toThrow();
  });
});

describe('the keys of the file operations', () => {
  const parts: Part[] = [
    ['project_id', PROJECT],
    ['file', Buffer.from('x')],
  ];

  it('/file/create needs a writer, for the project', async () => {
    expect((await create(parts, { headers: { authorization: '' } })).status).toBe(401);
    expect((await create(parts, { key: await app.aKey('reader') })).status).toBe(403);
    const key = await app.aKey('writer', ['acme/else']);
    for (const body of [
      parts,
      parts.toReversed(),
      [['file', someBytes(3 * CHUNK)], parts[0]] as Part[],
    ]) {
      const before = await chunksOf(PROJECT);
      expect(await create(body, { key })).toMatchObject({
        status: 403,
        body: { code: 'forbidden' },
      });
      expect(await chunksOf(PROJECT)).toBe(before);
    }
  });

  it('/file/content needs a reader, for the project', async () => {
    const body = { project_id: PROJECT, digest: 'x' };
    const status = async (options: object) =>
      (await app.post('/file/content', body, options)).status;
    expect(await status({ headers: { authorization: '' } })).toBe(401);
    expect(await status({ key: await app.aKey('admin', ['acme/else']) })).toBe(403);
    expect(await status({ key: await app.aKey('reader', [PROJECT]) })).toBe(404);
  });
});
