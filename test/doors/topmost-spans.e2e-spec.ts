import fc from 'fast-check';
import { lookupType } from '../../src/doors/otel/otlp.js';
import { basic, linesOf, useApp } from '../support/app.js';

const app = useApp();

let projects = 0;
let project_id = '';
beforeEach(() => {
  project_id = `acme/tops-${++projects}`;
});

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const REMOTE = 0x300;
const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const named = (thread: string) => ({ attributes: [text('session.id', thread)] });
/** Span number `n` of a trace. It begins in second `n` and takes one second. */
const span = (n: number, parent: number | null, more: object = {}) => ({
  traceId: TRACE,
  spanId: id(n),
  ...(parent !== null && { parentSpanId: id(parent) }),
  name: `span ${n}`,
  startTimeUnixNano: `${1767225600 + n}000000000`,
  endTimeUnixNano: `${1767225601 + n}000000000`,
  ...more,
});
const id = (n: number) => `a${n.toString(16).padStart(15, '0')}`;
const request = (spans: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const REQUEST = lookupType('collector.trace.v1.ExportTraceServiceRequest');
const bytes = (hex: string | undefined) => hex && Buffer.from(hex, 'hex');
const protobufOf = (spans: any[]) =>
  REQUEST.encode(
    REQUEST.fromObject(
      request(
        spans.map((one) => ({
          ...one,
          traceId: bytes(one.traceId),
          spanId: bytes(one.spanId),
          parentSpanId: bytes(one.parentSpanId),
        })),
      ),
    ),
  ).finish();
const FORMS = { json: (spans: object[]) => JSON.stringify(request(spans)), protobuf: protobufOf };
type Form = keyof typeof FORMS;
const send = async (spans: object[], form: Form = 'json') => {
  const headers = {
    project_id,
    'content-type': `application/${form === 'json' ? 'json' : 'x-protobuf'}`,
  };
  const answer = await app.post('/otel/v1/traces', FORMS[form](spans), { headers });
  expect(answer.status).toBe(200);
};
const calls = async (filter: object = {}): Promise<any[]> =>
  linesOf(await app.post('/calls/stream_query', { project_id, filter }));
const roots = async () => (await calls({ trace_roots_only: true })).map((call) => call.id);
/** Reads the threads, each with its number of turns and its first turn. */
const threads = async () =>
  linesOf(
    await app.post('/threads/stream_query', {
      project_id,
      sort_by: [{ field: 'thread_id', direction: 'asc' }],
    }),
  ).map(({ thread_id, turn_count, first_turn_id }) => [thread_id, turn_count, first_turn_id]);
const turns = async () =>
  (await calls()).flatMap((call) => (call.turn_id === call.id ? [[call.id, call.thread_id]] : []));

const orders = <T>(list: T[]): T[][] =>
  list.length < 2
    ? [list]
    : list.flatMap((one, i) => orders(list.toSpliced(i, 1)).map((rest) => [one, ...rest]));

describe.each(['json', 'protobuf'] as const)(
  'spans of a caller that is not here, as %s',
  (form) => {
    it('begin with a root that is the turn of its thread', async () => {
      await send([span(2, 1, { flags: REMOTE, ...named('talk') }), span(3, 2)], form);
      expect(await roots()).toEqual([id(2)]);
      expect(await threads()).toEqual([['talk', 1, id(2)]]);
    });

    it('begin with a root that is the turn of the thread that a span below names', async () => {
      await send([span(2, 1, { flags: REMOTE }), span(3, 2), span(4, 3, named('talk'))], form);
      expect(await roots()).toEqual([id(2)]);
      expect(await threads()).toEqual([['talk', 1, id(2)]]);
      expect(await turns()).toEqual([[id(2), 'talk']]);
    });

    it('give the turn to the parent, whichever of them comes first', async () => {
      const spans = [
        span(1, null),
        span(2, 1, { flags: REMOTE }),
        span(3, 2, named('talk')),
        span(4, 1, named('other')),
      ];
      for (const [i, order] of orders(spans).entries()) {
        if (form === 'protobuf' && i % 5) continue;
        project_id = `acme/tops-${form}-${i}`;
        for (const one of order) await send([one], form);
        expect([await roots(), await threads(), await turns()]).toEqual([
          [id(1)],
          [['talk', 1, id(1)]],
          [[id(1), 'talk']],
        ]);
        expect((await calls()).map(({ thread_id }) => thread_id)).toEqual([
          'talk',
          null,
          'talk',
          'other',
        ]);
      }
    });
  },
);

it('each of several topmost spans of a trace is a turn', async () => {
  await send([span(2, 1), span(3, 2, named('talk')), span(5, 4, named('talk')), span(7, 6)]);
  expect(await roots()).toEqual([id(2), id(5), id(7)]);
  expect(await threads()).toEqual([['talk', 2, id(2)]]);
  await send([span(1, null, named('own')), span(4, 1)]);
  expect(await roots()).toEqual([id(1), id(7)]);
  expect(await threads()).toEqual([['own', 1, id(1)]]);
});

it('a span that says that it is a turn stays one', async () => {
  const isTurn = { key: 'wandb.is_turn', value: { boolValue: true } };
  await send([span(2, 1, { attributes: [text('wandb.thread_id', 'talk'), isTurn] })]);
  await send([span(1, null)]);
  expect(await turns()).toEqual([
    [id(1), 'talk'],
    [id(2), 'talk'],
  ]);
});

it('a deletion and a purge give the turn to the span below', async () => {
  await send([span(1, null), span(2, 1, named('talk')), span(3, 2), span(4, 1, named('late'))]);
  expect(await threads()).toEqual([['talk', 1, id(1)]]);
  await app.post('/calls/delete', { project_id, call_ids: [id(2)] });
  expect(await threads()).toEqual([['late', 1, id(1)]]);
  expect(await roots()).toEqual([id(1)]);
  const purged = await app.post('/calls/purge', { project_id, filter: { call_ids: [id(1)] } });
  expect(purged.body).toMatchObject({ is_done: true });
  expect(await roots()).toEqual([id(4)]);
  expect(await threads()).toEqual([['late', 1, id(4)]]);
});

it('a retry of the same spans changes nothing', async () => {
  const spans = [span(1, null), span(2, 1), span(3, 2, named('talk')), span(6, 5, named('far'))];
  await send(spans);
  const before = [await threads(), await turns(), await roots()];
  await send(spans);
  await send(spans.slice(0, 1));
  expect([await threads(), await turns(), await roots()]).toEqual(before);
});

it('parents and children that come at the same time end right', async () => {
  const spans = Array.from({ length: 12 }, (_, n) =>
    span(n, n ? n - 1 : null, n === 11 ? named('talk') : {}),
  );
  for (let round = 0; round < 8; round++) {
    project_id = `acme/tops-together-${round}`;
    await Promise.all(spans.map((one) => send([one])));
    expect(await roots()).toEqual([id(0)]);
    expect(await threads()).toEqual([['talk', 1, id(0)]]);
  }
});

it('clients of /call/… keep the turns that they say', async () => {
  const start = (call: object) =>
    app.post('/call/start', {
      start: {
        project_id,
        trace_id: 't',
        op_name: 'op',
        started_at: '2026-01-05T12:00:00Z',
        ...call,
      },
    });
  await start({ id: 'b', parent_id: 'a', thread_id: 'talk', turn_id: 'b' });
  await start({ id: 'c', parent_id: 'b', thread_id: 'talk', turn_id: 'b' });
  await start({ id: 'a' });
  expect(await threads()).toEqual([['talk', 1, 'b']]);
  expect(await roots()).toEqual(['a']);
});

it("Langfuse's observations are roots until their trace comes", async () => {
  const event = (type: string, body: object) => ({
    id: `${type}-${JSON.stringify(body)}`,
    type,
    timestamp: '2026-01-05T12:00:00Z',
    body,
  });
  const ingest = (...batch: object[]) =>
    app.post(
      '/api/public/ingestion',
      { batch },
      { headers: { authorization: basic(app.key, project_id) } },
    );
  await ingest(event('span-create', { id: 'o2', traceId: 't', parentObservationId: 'o1' }));
  await ingest(event('generation-create', { id: 'o3', traceId: 't', parentObservationId: 'o2' }));
  expect(await roots()).toEqual(['o2']);
  await ingest(event('span-create', { id: 'o1', traceId: 't' }));
  expect(await roots()).toEqual(['o1']);
  await ingest(event('trace-create', { id: 't', sessionId: 'talk' }));
  expect(await roots()).toEqual(['t']);
  expect(await threads()).toEqual([['talk', 1, 't']]);
});

/** Computes roots and turns from all spans at once, as the definition does, instead of span by span. */
function expected(spans: ReturnType<typeof span>[]) {
  const byId = new Map(spans.map((one) => [one.spanId, one]));
  const threadOf = (one: any): string | undefined => one.attributes?.[0]?.value.stringValue;
  const topOf = (one: any): any => {
    const parent = byId.get(one.parentSpanId);
    return parent ? topOf(parent) : one;
  };
  const sorted = spans.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1));
  const tops = sorted.filter((one) => topOf(one) === one);
  const ofTop = (top: object) =>
    threadOf(top) ??
    sorted
      .filter((one) => topOf(one) === top)
      .map(threadOf)
      .find(Boolean);
  return {
    roots: tops.map(({ spanId }) => spanId),
    turns: tops.flatMap((top) => (ofTop(top) ? [[top.spanId, ofTop(top)]] : [])),
  };
}

it('roots and turns follow from what is here, in any order of arrival', async () => {
  const tree = fc
    .array(fc.tuple(fc.nat(20), fc.constantFrom(undefined, undefined, 'a', 'b')), {
      minLength: 2,
      maxLength: 14,
    })
    .map((list) =>
      list.map(([at, thread], n) =>
        span(n + 1, at % 7 === 0 ? null : at % (n + 2), thread === undefined ? {} : named(thread)),
      ),
    )
    .map((spans) => spans.filter(({ spanId, ...one }) => spanId !== (one as any).parentSpanId));
  const arrival = tree.chain((spans) =>
    fc.tuple(
      fc.shuffledSubarray(spans, { minLength: Math.min(1, spans.length) }),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 20, maxLength: 20 }),
    ),
  );
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(arrival, async ([spans, sizes]) => {
      project_id = `acme/tops-any-${++runs}`;
      const come: typeof spans = [];
      for (const size of sizes) {
        const part = spans.slice(come.length, come.length + size);
        if (part.length === 0) break;
        await send(part);
        come.push(...part);
        expect({ roots: await roots(), turns: await turns() }).toEqual(expected(come));
      }
    }),
    { numRuns: 25 },
  );
});
