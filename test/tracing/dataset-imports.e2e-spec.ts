import { once } from 'node:events';
import { connect } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { basic, send, useApp } from '../support/app.js';
import { aStart } from '../support/factories.js';

const app = useApp();
let projects = 0;
let project_id: string;
beforeEach(() => {
  project_id = `acme/imports-${++projects}`;
});

const CSV = 'text/csv';
const JSONL = 'application/x-ndjson';

interface FileQuery {
  [name: string]: unknown;
  mapping?: unknown;
}

const addressOf = (path: string, { mapping, ...query }: FileQuery) => {
  const texts = { project_id, ...query, ...(mapping !== undefined && { mapping: JSON.stringify(mapping) }) }; // prettier-ignore
  return `${path}?${new URLSearchParams(texts as Record<string, string>).toString()}`;
};

/** Imports a file into the dataset `qa`. */
const importFile = (
  body: string | Uint8Array,
  { type = CSV, key = app.key, headers = {}, ...query }: FileQuery & { type?: string; key?: string; headers?: Record<string, string> } = {}, // prettier-ignore
) =>
  send(app.url + addressOf('/datasets/import', { object_id: 'qa', ...query }), body, {
    authorization: basic(key),
    'content-type': type,
    ...headers,
  });

const preview = (
  body: string | Uint8Array,
  { type = CSV, ...query }: FileQuery & { type?: string } = {},
) =>
  // prettier-ignore
  send(app.url + addressOf('/datasets/import/preview', query), body, {
    authorization: basic(app.key),
    'content-type': type,
  });

const valueOf = async (object_id = 'qa') =>
  (await app.post('/obj/read', { project_id, object_id, digest: 'latest' })).body.obj;

/** The texts of the rows of a dataset, as they are stored. */
async function rowsOf(object_id = 'qa'): Promise<string[]> {
  const { val } = await valueOf(object_id);
  const { body, text } = await app.post('/table/query', { project_id, digest: val.rows.split('/').at(-1) }); // prettier-ignore
  const found = [...text.matchAll(/"val":(\{.*?\}),"original_index":\d+\}/gs)].map(([, val]) => val!); // prettier-ignore
  expect(found).toHaveLength(body.rows.length);
  return found;
}

/** Everything that a refused import must leave as it is. */
const storedOf = async () => {
  const count = (table: string) => app.query(`SELECT count(*)::int AS n FROM ${table} WHERE project_id = $1`, [project_id]); // prettier-ignore
  const tables = ['object_versions', 'tables', 'table_rows', 'dataset_import_rows', 'uploads'];
  return (await Promise.all(tables.map(count))).map(([{ n }]) => n);
};

describe('/datasets/import of CSV', () => {
  it('publishes a dataset as clients do, whose texts stay as they were sent', async () => {
    const key = await app.aKey('writer', [project_id], 'grace');
    const file =
      '\ufeffquestion,"the ""answer""",n\r\n"a, ""b""\r\nc",Grüße 世界 🙂,007\r\n\r\n ,"",1.50\r\n"\n", x ,';
    const imported = await importFile(file, { key, description: 'by hand' });
    expect([imported.status, imported.body]).toEqual([
      200,
      {
        object_id: 'qa',
        digest: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
        version_index: 0,
        ref: `svc:///${project_id}/object/qa:${imported.body.digest}`,
        num_rows: 3,
        added: 3,
        duplicates: 0,
      },
    ]);
    expect((await valueOf()).val).toEqual({
      _type: 'Dataset',
      name: 'qa',
      description: 'by hand',
      rows: expect.stringMatching(new RegExp(`^svc:///${project_id}/table/[0-9a-f]{64}$`)),
      _class_name: 'Dataset',
      _bases: ['Object', 'BaseModel'],
    });
    expect(await valueOf()).toMatchObject({ base_object_class: 'Dataset', svc_user_id: 'grace' });
    // as python's csv.reader reads the file
    expect(await rowsOf()).toEqual([
      String.raw`{"question":"a, \"b\"\r\nc","the \"answer\"":"Grüße 世界 🙂","n":"007"}`,
      '{"question":" ","the \\"answer\\"":"","n":"1.50"}',
      '{"question":"\\n","the \\"answer\\"":" x ","n":""}',
    ]);
    expect(await storedOf()).toEqual([1, 1, 3, 0, 0]);
  });

  it('gives the same table as a client that publishes the same rows', async () => {
    await importFile('a,b\n1,x\n2,"y\nz"\n');
    const rows = [
      { a: '1', b: 'x' },
      { b: 'y\nz', a: '2' },
    ];
    const { body } = await app.post('/table/create', { table: { project_id, rows } });
    expect((await valueOf()).val.rows).toBe(`svc:///${project_id}/table/${body.digest}`);
  });

  it.each([
    [';', 'a;b\n"1;2";3'],
    ['tab', 'a\tb\n"1\t2"\t3'],
    ['|', 'a|b\n"1|2"|3'],
  ])('takes the delimiter %s', async (delimiter, file) => {
    await importFile(file, { delimiter });
    const [row] = await rowsOf();
    expect(JSON.parse(row!)).toEqual({ a: expect.stringMatching(/^1[;|\t]2$/), b: '3' });
  });

  it('maps columns to paths and types, and leaves columns out', async () => {
    const mapping = {
      question: 'inputs.question',
      stars: { path: 'scores.[a.b]', type: 'number' },
      good: { type: 'boolean' },
      meta: { path: 'inputs.meta', type: 'json' },
      junk: null,
    };
    const file =
      'question,stars,good,meta,junk,left\n' +
      'why?,12345678901234567890.10,TRUE,"{""x"": [1.0, ""\\u00e9""]}",J,L\n' +
      'how?,,,,,\n';
    await importFile(file, { mapping });
    expect(await rowsOf()).toEqual([
      String.raw`{"inputs":{"question":"why?","meta":{"x": [1.0, "\u00e9"]}},"scores":{"a.b":12345678901234567890.10},"good":true,"left":"L"}`,
      '{"inputs":{"question":"how?","meta":null},"scores":{"a.b":null},"good":null,"left":""}',
    ]);
  });

  it('lists the faulty lines, and stores nothing', async () => {
    const lines = Array.from({ length: 60 }, (_, i) => (i % 2 ? `${i},x` : `"${i}\r\n",1`));
    const { status, body } = await importFile(`n,value\r\n${lines.join('\r\n')}`, {
      mapping: { value: { type: 'number' } },
    });
    expect([status, body.code, body.num_errors]).toEqual([400, 'invalid_request', 30]);
    // a pair of rows takes three lines, and the first is on line 2
    expect(body.errors).toEqual(
      Array.from({ length: 30 }, (_, i) => ({
        path: `line ${4 + 3 * i}.value`,
        message: 'is not a number',
        line: 4 + 3 * i,
        field: 'value',
      })),
    );
    expect(body.detail).toBe('line 4.value is not a number, and 29 more');
    expect(await storedOf()).toEqual([0, 0, 0, 0, 0]);
  });

  it('lists at most 100 faults and counts all, though many rows before them were good', async () => {
    const good = Array.from({ length: 5000 }, (_, i) => `${i},1\n`).join('');
    const { body } = await importFile(`n,value\n${good}${'1\n'.repeat(150)}`);
    expect([body.errors.length, body.num_errors]).toEqual([100, 150]);
    expect(body.errors[99]).toEqual({
      path: 'line 5101',
      message: 'has 1 fields, and the header has 2',
      line: 5101,
    });
    expect(await storedOf()).toEqual([0, 0, 0, 0, 0]);
  });

  it.each([
    ['a,b\n1,2\n1,b"c"d"\n3,4', [3], 'has a quote in a field that does not begin with one'],
    ['a,b\n1,2\n"b"c,2\n3,"4"', [3], 'has a quote inside a quoted field that is not doubled'],
    ['a,b\n"1\n\n",2\n\n\n3,"4\n5,6\n', [7], 'has a quoted field without an end'],
    ['a,b\n1,2,3\n1\n1,2', [2, 3], 'has 3 fields, and the header has 2'],
    ['a,b\n1,2\n"x\ny",2,3\n4,5,6', [3, 5], 'has 3 fields, and the header has 2'],
  ])('finds the line of a fault in %j', async (file, lines, message) => {
    const { body } = await importFile(file);
    expect([body.errors.map(({ line }: any) => line), body.errors[0].message]).toEqual([lines, message]); // prettier-ignore
    expect(await storedOf()).toEqual([0, 0, 0, 0, 0]);
  });

  it.each([
    ['a,b,a,b\n1,2,3,4', ['a', 'b'], 'is the name of two columns'],
    ['a,,c\n1,2,3', [undefined], 'has no name for column 2'],
    [`a,${'n'.repeat(257)}\n1,2`, ['n'.repeat(256)], 'must have a name of at most 256 characters without \\u0000'], // prettier-ignore
    ['a,b"c\n1,2', [undefined], 'has a quote in a field that does not begin with one'],
    [`${'c,'.repeat(100_000)}\n`, [undefined], 'has more than 1000 columns'],
    ['\n\n', [undefined], 'has no names of columns'],
  ])('refuses the header of %.40j', async (file, fields, message) => {
    const { status, body } = await importFile(file);
    expect([status, body.errors.map(({ field }: any) => field)]).toEqual([400, fields]);
    expect(body.errors[0]).toMatchObject({ line: 1, message });
  });

  it.each([
    [{ c: 'd' }, 'c', 'is in the mapping, but not in the header'],
    [{ a: 'b' }, 'b', 'has the same place in the row as another column'],
    [{ a: 'x', b: 'x.y' }, 'b', 'has the same place in the row as another column'],
    [{ a: 'x.y', b: 'x' }, 'b', 'has the same place in the row as another column'],
  ])('refuses the mapping %j', async (mapping, field, message) => {
    const { status, body } = await importFile('a,b\n1,2', { mapping });
    expect([status, body.errors]).toEqual([
      400,
      [{ path: `line 1.${field}`, message, line: 1, field }],
    ]);
  });
});

describe('/datasets/import of JSON lines', () => {
  it('stores rows as they were sent', async () => {
    const lines = [
      '{"b": 1.0, "a": 12345678901234567890}',
      ' {"text":"\\ud83d\\u0000", "a":1,"a":2}\t',
      '{ }',
    ];
    await importFile(`\ufeff${lines.join('\r\n')}\n\n \n`, { type: 'application/jsonl' });
    expect(await rowsOf()).toEqual(lines.map((line) => line.trim()));
  });

  it('maps members, of which rows may have different ones', async () => {
    const mapping = {
      q: 'inputs.q',
      n: { type: 'number' },
      t: { type: 'text', path: 'inputs.t' },
      j: { type: 'json' },
      x: null,
    };
    const lines = [
      '{"q": "a\\u00e9", "n": "1.50", "t": 1e400, "j": "[1.0]", "x": 1, "z": {"y": 2.0}}',
      '{"n": 7, "t": "\\u0041", "j": {"a": 1}}',
      '{"z": null, "t": null, "q": {}}',
    ];
    await importFile(lines.join('\n'), { type: JSONL, mapping });
    expect(await rowsOf()).toEqual([
      String.raw`{"inputs":{"q":"a\u00e9","t":"1e400"},"n":1.50,"j":[1.0],"z":{"y": 2.0}}`,
      String.raw`{"n":7,"inputs":{"t":"\u0041"},"j":{"a": 1}}`,
      '{"z":null,"inputs":{"t":null,"q":{}}}',
    ]);
  });

  it('lists the faulty lines', async () => {
    const deep = '['.repeat(1000) + ']'.repeat(1000);
    const lines = ['{"a":1}', '{"a":1', '[1]', '', '1', '{"a":1}{}', `{"a":${deep}}`, '{"a":"x"}'];
    const { status, body } = await importFile(lines.join('\n'), {
      type: JSONL,
      mapping: { a: { type: 'number' }, gone: 'here' },
    });
    expect([status, body.errors]).toEqual([
      400,
      [
        { path: 'line 2', message: 'is not valid JSON', line: 2 },
        { path: 'line 3', message: 'is not a JSON object', line: 3 },
        { path: 'line 5', message: 'is not a JSON object', line: 5 },
        { path: 'line 6', message: 'is not valid JSON', line: 6 },
        { path: 'line 7', message: 'JSON is nested deeper than 1000 levels', line: 7 },
        { path: 'line 8.a', message: 'is not a number', line: 8, field: 'a' },
        { path: 'line 1.gone', message: 'is in the mapping, but not in the file', line: 1, field: 'gone' }, // prettier-ignore
      ],
    ]);
    expect(await storedOf()).toEqual([0, 0, 0, 0, 0]);
  });
});

describe('/datasets/import', () => {
  it('appends rows that are new, or replaces all', async () => {
    await importFile('a\n1\n2\n1\n');
    const again = await importFile('a\n2\n1\n');
    expect(again.body).toMatchObject({ version_index: 0, num_rows: 2, added: 0, duplicates: 2 });
    const more = await importFile('a\n3\n2\n4\n');
    expect(more.body).toMatchObject({ version_index: 1, num_rows: 4, added: 2, duplicates: 1 });
    expect(await rowsOf()).toEqual(['{"a":"1"}', '{"a":"2"}', '{"a":"3"}', '{"a":"4"}']);
    const replaced = await importFile('a\n9\n2\n9\n', { mode: 'replace' });
    expect(replaced.body).toMatchObject({ version_index: 2, num_rows: 2, added: 2, duplicates: 1 });
    expect(await rowsOf()).toEqual(['{"a":"9"}', '{"a":"2"}']);
  });

  it('marks the calls of rows that it replaces', async () => {
    for (const prompt of ['kept', 'gone'])
      await app.post('/call/start', {
        start: aStart({ project_id, id: prompt, inputs: { prompt } }),
      });
    const columns = { prompt: 'inputs.prompt' };
    const call_ids = ['kept', 'gone'];
    await app.post('/datasets/add_from_calls', { project_id, object_id: 'qa', columns, call_ids });
    await importFile('prompt\nkept\nnew\n', { mode: 'replace' });
    const { body } = await app.post('/datasets/lineage', { project_id });
    const removed = body.rows.map(({ call_id, removed_at }: any) => [call_id, removed_at !== null]);
    expect(removed.toSorted()).toEqual([
      ['gone', true],
      ['kept', false],
    ]);
  });

  it('loses no row of imports and additions at once', async () => {
    const files = Array.from({ length: 6 }, (_, n) =>
      ['a', ...Array.from({ length: 400 }, (_, i) => String(n * 100 + i))].join('\n'),
    );
    const answers = await Promise.all(files.map((file) => importFile(file)));
    expect(answers.map(({ status }) => status)).toEqual(files.map(() => 200));
    const rows = (await rowsOf()).map((row) => Number(JSON.parse(row).a));
    expect(rows.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 900 }, (_, i) => i));
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('inflates %s', async (encoding, compress) => {
    const file = `a\n${Array.from({ length: 3000 }, (_, i) => `row ${i}`).join('\n')}`;
    const headers = { 'content-encoding': encoding };
    const { body } = await importFile(compress(file), { headers });
    expect(body).toMatchObject({ num_rows: 3000 });
    const { status } = await importFile(compress(file).subarray(0, 900), { headers });
    expect(status).toBe(400);
  });

  it('answers a resend with the key of the first, and refuses another file', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await importFile('a\n1\n', { headers });
    await importFile('a\n2\n', { mode: 'replace' });
    expect((await importFile('a\n1\n', { headers })).body).toEqual(first.body);
    expect((await importFile('a\n3\n', { headers })).status).toBe(409);
    expect(await rowsOf()).toEqual(['{"a":"2"}']);
    expect((await storedOf()).slice(3)).toEqual([0, 0]);
  });

  it('stores nothing of a body that is cut', async () => {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    const rows = Array.from({ length: 20_000 }, (_, i) => `row ${i}\n`).join('');
    const head = `POST ${addressOf('/datasets/import', { object_id: 'qa' })} HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(app.key)}\r\nContent-Type: text/csv\r\nContent-Length: 9999999\r\n\r\n`; // prettier-ignore
    socket.write(`${head}a\n${rows}`);
    for (let staged = 0; staged === 0;)
      [, , , staged] = (await storedOf()) as [number, number, number, number, number];
    socket.destroy();
    await once(socket, 'close');
    for (let all = [1]; all.some((n) => n > 0);) all = await storedOf();
  });

  it('refuses a row that is larger than others may be, also if it never ends', async () => {
    const large = 'x'.repeat(34 * 1024 * 1024);
    for (const [file, type, line] of [
      [`a\n1\n"${large}`, CSV, 3],
      [`a\n1\n${','.repeat(34 * 1024 * 1024)}`, CSV, 3],
      [`{}\n\n{"a":"${large}"}`, JSONL, 3],
    ] as const) {
      const { status, body } = await importFile(gzipSync(file), {
        type,
        headers: { 'content-encoding': 'gzip' },
      });
      expect([status, body.code]).toEqual([413, 'too_large']);
      expect(body.detail).toMatch(
        new RegExp(`^(the row on line ${line} is over the limit of 33554432 bytes|the body takes)`),
      );
    }
    expect(await storedOf()).toEqual([0, 0, 0, 0, 0]);
  });

  it('passes over a million empty lines', async () => {
    const { body } = await importFile(`a\n${'\r\n'.repeat(1_000_000)}1\n2,3`);
    expect(body.errors).toEqual([
      { path: 'line 1000003', message: 'has 2 fields, and the header has 1', line: 1_000_003 },
    ]);
  });

  it.each([
    ['a\n\xff', 'the file is not UTF-8, from about line 1 on'],
    ['a\n', 'the file has no rows'],
    ['', 'the file has no rows'],
  ])('refuses the file %j', async (file, detail) => {
    const { status, body } = await importFile(Buffer.from(file, 'latin1'));
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(file === '' ? body.errors[0].message : body.detail).toBe(
      file === '' ? 'has no names of columns' : detail,
    );
  });

  it.each([
    [{ mode: 'merge' }, 'mode'],
    [{ delimiter: 'x' }, 'delimiter'],
    [{ object_id: 'a b' }, 'object_id'],
    [{ mapping: [] }, 'mapping'],
    [{ mapping: { a: 3 } }, 'mapping.a'],
    [{ mapping: { a: '' } }, 'mapping.a'],
    [{ mapping: { a: { type: 'date' } } }, 'mapping.a.type'],
    [{ project_id: 'acme' }, 'project_id'],
  ])('refuses %j', async (query, path) => {
    const { status, body } = await importFile('a\n1', query);
    expect([status, body.errors.map((error: any) => error.path)]).toEqual([400, [path]]);
  });

  it('refuses another type of file, and an object that is no dataset', async () => {
    expect((await importFile('{}', { type: 'application/json' })).status).toBe(415);
    expect((await importFile('a\n1', { type: 'text/csv; charset=latin1' })).status).toBe(415);
    await app.post('/obj/create', { obj: { project_id, object_id: 'qa', val: { rows: [] } } });
    const { status, body } = await importFile('a\n1');
    expect([status, body.errors[0].path]).toEqual([400, 'object_id']);
    expect((await storedOf()).slice(2)).toEqual([0, 0, 0]);
  });
});

describe('/datasets/import/preview', () => {
  it('shows columns, first rows and faults, and stores nothing', async () => {
    const rows = Array.from({ length: 30 }, (_, i) => `q${i},${i}.0\n`).join('');
    const mapping = { n: { path: 'scores.n', type: 'number' } };
    const { status, body, text } = await preview(`q,n\n${rows}x,y\nz,1`, { mapping });
    expect([status, body]).toEqual([
      200,
      {
        columns: [
          { name: 'q', path: 'q', type: 'text' },
          { name: 'n', path: 'scores.n', type: 'number' },
        ],
        num_rows: 31,
        errors: [{ path: 'line 32.n', message: 'is not a number', line: 32, field: 'n' }],
        num_errors: 1,
        rows: Array.from({ length: 20 }, (_, i) => ({ q: `q${i}`, scores: { n: i } })),
      },
    ]);
    expect(text).toContain('{"q":"q7","scores":{"n":7.0}}');
    expect(await storedOf()).toEqual([0, 0, 0, 0, 0]);
  });

  it('shows the members of JSON lines, and the faults of a header', async () => {
    const lines = await preview('{"a": 1.0}\n{"b": 2}\n{', { type: JSONL });
    expect(lines.body).toMatchObject({
      columns: [
        { name: 'a', path: 'a', type: null },
        { name: 'b', path: 'b', type: null },
      ],
      num_rows: 2,
      num_errors: 1,
    });
    const header = await preview('a,a\n1,2');
    expect(header.body).toMatchObject({ columns: [], num_rows: 0, num_errors: 1, rows: [] });
  });

  it.each([
    ['a,b\n1,2\n3', CSV],
    ['a,b\n1,2\n3,"4\n', CSV],
    ['{"a":1}\n{"a', JSONL],
    [Buffer.from('{"a":1}\n{"a":"é').subarray(0, -1), JSONL],
  ])('takes the first part of a file, %j', async (head, type) => {
    const { body } = await preview(head, { type, partial: 'true' });
    expect([body.num_rows, body.num_errors]).toEqual([1, 0]);
    const whole = await preview(head, { type });
    expect(whole.status === 400 || whole.body.num_errors === 1).toBe(true);
  });
});

it('adds to, removes from and splits no dataset over 100,000 rows', async () => {
  const rows = Array.from({ length: 100_001 }, (_, i) => i).join('\n');
  expect((await importFile(`a\n${rows}`)).body).toMatchObject({ num_rows: 100_001 });
  const object_id = 'qa';
  await app.post('/call/start', { start: aStart({ project_id, id: 'c' }) });
  const answers = await Promise.all([
    app.post('/datasets/add_from_calls', { project_id, object_id, call_ids: ['c'], columns: { id: 'id' } }), // prettier-ignore
    app.post('/datasets/remove_rows', { project_id, object_id, row_digests: [] }),
    app.post('/datasets/split', { project_id, object_id, parts: ['x', 'y'].map((object_id) => ({ object_id, fraction: 0.5 })) }), // prettier-ignore
  ]);
  for (const { status, body } of answers)
    expect([status, body.detail]).toEqual([
      413,
      'the dataset has 100001 rows, over the limit of 100000: only imports make larger ones',
    ]);
});
