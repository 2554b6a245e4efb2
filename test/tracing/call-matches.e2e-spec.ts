import * as fc from 'fast-check';
import { linesOf, useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';
import { jsonTexts } from '../support/json-texts.js';

const FIELDS = [
  'display_name',
  'op_name',
  'exception',
  'inputs',
  'output',
  'attributes',
  'summary',
];
const CODE_POINT = /\p{Cs}/u;

describe('where calls say a text', () => {
  const app = useApp();
  const calls = useCalls(app);

  const store = async (id: string, members: string, end = '') => {
    const names = `"project_id":"${calls.project_id}","id":"${id}"`;
    const start = `{"start":{${names},"op_name":"run","started_at":"2026-01-01",${members}}}`;
    expect((await app.post('/call/start', start)).status).toBe(200);
    const body = `{"end":{${names},"ended_at":"2026-01-02"${end}}}`;
    expect((await app.post('/call/end', body)).status).toBe(200);
  };
  const ask = (call_ids: string[], text: string | string[], more = {}) =>
    app.post('/calls/matches', {
      project_id: calls.project_id,
      call_ids,
      texts: [text].flat(),
      ...more,
    });
  const matchesOf = async (...asked: Parameters<typeof ask>) => {
    const answer = await ask(...asked);
    expect(answer).toMatchObject({ status: 200, body: { not_searched: [] } });
    return answer.body.matches;
  };

  it.each<[string, string, string, object]>([
    [
      String.raw`{"messages":[{},{"content":"he said \u4f60\u597d\n"}]}`,
      '你好',
      'messages.1.content',
      { before: 'he said ', after: '\n' },
    ],
    [String.raw`{"a":"say \"hi\""}`, 'say "hi"', 'a', { before: '', after: '' }],
    [
      String.raw`{"tool":"{\"city\":\"\\u5317\\u4eac 3\"}"}`,
      '北京',
      'tool',
      { before: '{"city":"', after: ' 3"}' },
    ],
    [String.raw`{"\u4f60.b":{"x":1}}`, '你.', String.raw`你\.b`, { after: 'b' }],
    ['{"n":[1,-12.50]}', '2.5', 'n.1', { before: '-1', after: '0' }],
    ['{"role":"user","n":1}', '"role":"us', '', { before: '{', after: 'er","n":1}' }],
    ['{"a":null,"b":true}', 'true', 'b', { before: '', after: '' }],
    [`{"a":"${'😀'.repeat(60)}X${'😀'.repeat(60)}"}`, 'X', 'a', { before: '😀'.repeat(40), after: '😀'.repeat(40) }], // prettier-ignore
    [String.raw`{"a":"\u0000 \ud800x"}`, '\ufffdx', 'a', { before: '\ufffd ', after: '' }],
  ])('finds what document %# says', async (inputs, text, at, around) => {
    await store('a', `"inputs":${inputs}`);
    const path = at === '' ? 'inputs' : `inputs.${at}`;
    expect(await matchesOf(['a'], text)).toEqual([
      { id: 'a', path, before: '', after: '', ...around, match: text },
    ]);
  });

  it('answers at most three matches of a call, in the order of the ids, in any case', async () => {
    await store('a', '"display_name":"Überall","inputs":{"a":"ÜBER","b":"x","c":["über","Über"]}');
    await store('b', '"inputs":{"b":"über"}', ',"exception":"darüber","output":"über"');
    const found = await matchesOf(['b', 'none', 'a'], 'ÜBER', { case_insensitive: true });
    expect(found.map(({ id, path, match }: any) => [id, path, match])).toEqual([
      ['b', 'exception', 'über'],
      ['b', 'inputs.b', 'über'],
      ['b', 'output', 'über'],
      ['a', 'display_name', 'Über'],
      ['a', 'inputs.a', 'ÜBER'],
      ['a', 'inputs.c.0', 'über'],
    ]);
    expect(await matchesOf(['a', 'b'], 'ÜBER')).toMatchObject([{ path: 'inputs.a' }]);
  });

  it('answers the places of each of several texts, in the order of the texts', async () => {
    const nested = JSON.stringify(String.raw`{"city":"\u5317\u4eac"}`);
    await store('a', `"inputs":{"a":"Refund now","b":${nested},"c":"refund, refund"}`);
    await store('b', '"inputs":{}', String.raw`,"output":["refund \u5317\u4eac","none"]`);
    const found = await matchesOf(['a', 'b'], ['北京', 'REFUND', 'absent', '北京'], {
      case_insensitive: true,
    });
    expect(found.map(({ id, path, match }: any) => [id, path, match])).toEqual([
      ['a', 'inputs.b', '北京'],
      ['a', 'inputs.a', 'Refund'],
      ['a', 'inputs.c', 'refund'],
      ['b', 'output.0', '北京'],
      ['b', 'output.0', 'refund'],
    ]);
  });

  it('finds each text that $contains finds, in the same calls', async () => {
    const documents = fc.sample(jsonTexts, { numRuns: 120, seed: 11 });
    const nested = (text: string, n: number) =>
      n % 3 === 0 ? JSON.stringify(JSON.stringify({ a: text })) : n % 3 === 1 ? JSON.stringify(text) : text; // prettier-ignore
    for (const [n, text] of documents.entries()) await store(`c${n}`, `"inputs":{"v":${nested(text, n)}}`); // prettier-ignore
    const ids = documents.map((_, n) => `c${n}`);
    const needles = [
      ...['a', 'A', '"', '\\', '": ', '/', '\n', '[{', '😀', '\ufffd', 'u00', '0', 'tru', '}', ':'],
      ...fc.sample(fc.integer({ min: 0, max: 119 }), { numRuns: 15, seed: 3 }).flatMap((n) => {
        const said = Array.from(JSON.stringify(JSON.parse(documents[n]!))).filter((one) => !CODE_POINT.test(one)); // prettier-ignore
        const from = n % Math.max(1, said.length);
        return (
          said
            .slice(from, from + 3)
            .join('')
            .replaceAll('\0', '') || 'a'
        );
      }),
    ];
    for (const text of needles)
      for (const case_insensitive of [true, false]) {
        const $contains = (field: string) => ({
          $contains: { input: { $getField: field }, substr: { $literal: text }, case_insensitive },
        });
        const query = { $expr: { $or: FIELDS.map($contains) } };
        const asked = { project_id: calls.project_id, query };
        const wanted = linesOf(await app.post('/calls/stream_query', asked)).map(({ id }) => id);
        const found = [
          ...(await matchesOf(ids.slice(0, 100), text, { case_insensitive })),
          ...(await matchesOf(ids.slice(100), text, { case_insensitive })),
        ];
        const said = [...new Set(found.map(({ id }) => id))];
        expect([text, said.toSorted()]).toEqual([text, wanted.toSorted()]);
        for (const { match } of found)
          expect(case_insensitive ? match.toLowerCase() : match).toBe(
            case_insensitive ? text.toLowerCase() : text,
          );
      }
  });

  it('searches large documents, and names those that are too large', async () => {
    const words = JSON.stringify(Array.from({ length: 1_000_000 }, (_, n) => `some word ${n}`));
    await store('words', `"inputs":{"words":${words}}`);
    await store(
      'long',
      `"inputs":{"a":"${'x'.repeat(1024 * 1024)} 你 ${'y'.repeat(1024 * 1024)}"}`,
    );
    await store('large', `"inputs":{"a":"${String.raw`\"`.repeat(11_000_000)}你"}`, `,"output":"${'z'.repeat(13_000_000)}"`); // prettier-ignore
    await store('deep', `"inputs":{"a":${'[{"":'.repeat(400)}"你"${'}]'.repeat(400)}}`);
    const [word] = await matchesOf(['words'], 'word 999999');
    expect(word).toMatchObject({ path: 'inputs.words.999999', before: 'some ', after: '' });
    const { body } = await ask(['large', 'long', 'deep'], '你');
    expect(body.not_searched).toEqual(['large']);
    expect(body.matches).toEqual([
      { id: 'long', path: 'inputs.a', before: `${'x'.repeat(39)} `, match: '你', after: ` ${'y'.repeat(39)}` }, // prettier-ignore
      { id: 'deep', path: expect.stringMatching(/^inputs\.a(\.0\.)+/), before: '', match: '你', after: '' }, // prettier-ignore
    ]);
    expect((await ask(['words', 'long', 'deep'], '?!;-'.repeat(1024))).body.matches).toEqual([]);
  });

  it('shows nothing of a deleted call, nor of another project', async () => {
    await store('a', '"inputs":{"a":"secret"}');
    expect(await matchesOf(['a'], 'secret')).toHaveLength(1);
    const other = { project_id: 'acme/others', call_ids: ['a'], texts: ['secret'] };
    expect((await app.post('/calls/matches', other)).body.matches).toEqual([]);
    await app.post('/calls/delete', { project_id: calls.project_id, call_ids: ['a'] });
    expect(await matchesOf(['a'], 'secret')).toEqual([]);
  });

  it.each<[object, string]>([
    [{ texts: [''] }, 'texts[0] must be a string of 1 to 4096 bytes'],
    [{ texts: ['a', '你'.repeat(1366)] }, 'texts[1] must be a string of 1 to 4096 bytes'],
    [{ texts: ['\ud800'] }, 'texts[0] must be a string of 1 to 4096 bytes'],
    [{ texts: [] }, 'texts must contain at least 1'],
    [
      { texts: Array.from({ length: 17 }, (_, n) => `t${n}`) },
      'texts must contain no more than 16',
    ],
    [{ texts: 'a' }, 'texts'],
    [{ call_ids: Array.from({ length: 101 }, (_, n) => `c${n}`) }, 'call_ids'],
    [{ case_insensitive: 'yes' }, 'case_insensitive'],
  ])('refuses what breaks rule %#', async (body, detail) => {
    const answer = await app.post('/calls/matches', {
      project_id: calls.project_id,
      call_ids: ['a'],
      texts: ['a'],
      ...body,
    });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(detail);
  });
});
