import { readFileSync } from 'node:fs';
import { basic } from '../support/app.js';
import { aFolder, type Server, startServer } from '../support/server.js';

const project_id = 'acme/imports';
const ROWS = 1_000_000;
/** Memory that a file of any size may add to the process, besides what V8 has not collected yet. */
const MOST_MIB = 400;

const folder = aFolder();
let server: Server;
beforeAll(async () => {
  server = await startServer({ DATA_DIR: folder.path });
});
afterAll(async () => {
  await server.stop();
  folder.remove();
});

const mebibytes = (name: string) => {
  const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1024;
};

/** Sends a file that is made while it is sent. */
async function importLines(type: string, lines: Iterable<string>, more: object = {}) {
  const chunks = (function* () {
    let text = '';
    for (const line of lines) {
      text += line;
      if (text.length < 65_536) continue;
      yield Buffer.from(text);
      text = '';
    }
    yield Buffer.from(text);
  })();
  const query = new URLSearchParams({ project_id, object_id: 'large', ...more });
  const response = await fetch(`${server.url}/datasets/import?${query.toString()}`, {
    method: 'POST',
    headers: { authorization: basic(server.key), 'content-type': type },
    body: ReadableStream.from(chunks),
    duplex: 'half',
  });
  return { status: response.status, body: (await response.json()) as any };
}

function* csv(from: number, to: number) {
  yield 'id,question,answer,score\n';
  for (let i = from; i < to; i++) yield `${i},"What is ${i}, ""said"" twice?",It is ${i * 7},${i % 10}.50\n`; // prettier-ignore
}

function* jsonLines(from: number, to: number) {
  for (let i = from; i < to; i++)
    yield `{"id": "${i}", "question": "Why ${i}?", "score": ${i}.0}\n`;
}

const rowsAt = async (offset: number) => {
  const { body } = await server.post('/obj/read', { project_id, object_id: 'large', digest: 'latest' }); // prettier-ignore
  const digest = body.obj.val.rows.split('/').at(-1);
  const page = await server.post('/table/query', { project_id, digest, offset, limit: 2 });
  return page.body.rows.map(({ val }: any) => val);
};

it('imports a million rows of CSV and then of JSON lines, with bounded memory, and no more', async () => {
  const before = mebibytes('VmRSS');
  const mapping = JSON.stringify({ score: { type: 'number' } });
  const first = await importLines('text/csv', csv(0, ROWS), { mapping });
  expect(first).toMatchObject({ status: 200, body: { num_rows: ROWS, added: ROWS, duplicates: 0 } }); // prettier-ignore
  const row = (i: number) => ({ id: `${i}`, question: `What is ${i}, "said" twice?`, answer: `It is ${i * 7}`, score: (i % 10) + 0.5 }); // prettier-ignore
  expect(await rowsAt(777_776)).toEqual([row(777_776), row(777_777)]);

  const second = await importLines('application/jsonl', jsonLines(0, ROWS));
  expect(second).toMatchObject({ status: 200, body: { num_rows: 2 * ROWS, added: ROWS, version_index: 1 } }); // prettier-ignore
  expect(await rowsAt(2 * ROWS - 1)).toEqual([{ id: '999999', question: 'Why 999999?', score: 999_999 }]); // prettier-ignore
  expect(mebibytes('VmHWM') - before).toBeLessThan(MOST_MIB);

  const third = await importLines('text/csv', csv(ROWS, ROWS + 2));
  expect([third.status, third.body.detail]).toEqual([
    413,
    'the dataset would have 2000002 rows, over the limit of 2000000',
  ]);
  const empty = (function* () {
    for (let i = 0; i <= ROWS; i++) yield '{}\n';
  })();
  const many = await importLines('application/jsonl', empty);
  expect([many.status, many.body.detail]).toEqual([413, 'the file has more than 1000000 rows']);
});
