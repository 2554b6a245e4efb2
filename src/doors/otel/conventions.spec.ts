import { readdirSync, readFileSync } from 'node:fs';
import { DIALECTS } from '../../tracing/usage/dialects.js';
import { REPORTED } from '../../tracing/usage/usage.js';
import { CONVENTIONS } from './conventions.js';
import { readLogPart } from './log-messages.js';
import type { Origin, OtlpSpan } from './otlp.js';
import type { LogRecord } from './otlp-logs.js';
import { toCall } from './span-call.js';

/** Exports of published instrumentations with the calls that they become, recorded by scripts/record-otlp.mjs. */
const FOLDER = 'test/fixtures/otlp';
const recorded = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

interface Recording {
  calls: object[];
  spans: { origin: Origin; span: OtlpSpan }[];
  logs?: { record: LogRecord | null }[];
  told?: (object | null)[];
}

it.each(recorded)('%s becomes the calls that were recorded with it', (name) => {
  const { calls, spans, logs, told }: Recording = JSON.parse(
    readFileSync(`${FOLDER}/${name}`, 'utf8'),
  );
  const made = spans.map(({ origin, span }) => {
    const { call, documents } = toCall(span, origin, 'acme/demo');
    const { op_name, display_name, thread_id, turn_id, exception } = call;
    const { inputs, output, summary, attributes } = Object.fromEntries(
      Object.entries(documents).map(([part, text]) => [part, JSON.parse(text)]),
    );
    const names = Object.keys(attributes).filter((key) => key !== 'resource' && key !== 'scope');
    const is_turn = turn_id !== null;
    return { op_name, display_name, thread_id, is_turn, exception, inputs, output, summary, names };
  });
  expect(made).toEqual(calls);
  expect(logs?.map(({ record }) => record && readLogPart(record))).toEqual(told);
});

/** Maps a span that has the attribute of one row, and the attribute that must stand beside it. */
const mapped = (attribute: string, value: string | number, beside?: string) => {
  const any = typeof value === 'number' ? { intValue: `${value}` } : { stringValue: value };
  const span: OtlpSpan = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    startTimeUnixNano: '1767225600123456789',
    endTimeUnixNano: '1767225601000000000',
    attributes: [
      { key: attribute, value: any },
      ...(beside ? [{ key: beside, value: { stringValue: 'x' } }] : []),
    ],
  };
  const { call, documents } = toCall(span, { resource: {}, scope: {} }, 'acme/demo');
  const { inputs, output, summary } = documents;
  return { call, inputs: inputs, output: output!, summary: summary! };
};

const rows = (test: RegExp) =>
  CONVENTIONS.filter(([, target, form]) => test.test(target) && form !== 'list').map(
    ([attribute, target, , beside]) => [attribute, target, beside] as const,
  );

it.each(rows(/^(inputs|output)/))('%s is %s', (attribute, target, beside) => {
  const [side, member] = target.split('.') as ['inputs' | 'output', string?];
  const whole = side === 'inputs' ? '{"input":"x"}' : '"x"';
  expect(mapped(attribute, 'x', beside)[side]).toBe(member ? `{"${member}":"x"}` : whole);
});

it.each(
  CONVENTIONS.filter(([, , form]) => form === 'list').map(
    ([name, target]) => [name, target] as const,
  ),
)('%s, spelled one by one, is %s', (name, target) => {
  const [side, member] = target.split('.') as ['inputs' | 'output', string];
  expect(mapped(`${name}.0.x`, 'y')[side]).toBe(`{"${member}":[{"x":"y"}]}`);
});

/** Names in a dialect of usage, with the member that they become. */
const OF_DIALECTS: Record<string, string> = {
  input_tokens: 'prompt_tokens',
  cache_write_input_tokens: 'cache_creation_input_tokens',
  tool_use_prompt_token_count: 'prompt_tokens',
  thoughts_token_count: 'reasoning_tokens',
};

it.each(rows(/^usage\./))('%s is %s', (attribute, target, beside) => {
  const name = target.slice('usage.'.length);
  const usage = { unknown: { requests: 1, [OF_DIALECTS[name] ?? name]: 7 } };
  expect(JSON.parse(mapped(attribute, 7, beside).summary)).toEqual({ usage });
});

const NAMED = DIALECTS.flatMap(({ names }) =>
  Object.entries(names).flatMap(([count, spelled]) =>
    [spelled]
      .flat()
      .filter((name) => count !== 'requests' && !name.includes('['))
      .map(
        (name) => [name, REPORTED.filter(([, counts]) => counts.includes(count as never))] as const,
      ),
  ),
);

it.each(
  rows(/^usage$/).flatMap(([attribute]) =>
    NAMED.map(([name, members]) => [attribute, name, members.map(([member]) => member)] as const),
  ),
)('%s with %s is %j', (attribute, name, members) => {
  const { summary } = mapped(attribute, JSON.stringify({ [name]: 7 }));
  const usage = { requests: 1, ...Object.fromEntries(members.map((member) => [member, 7])) };
  expect(JSON.parse(summary)).toEqual({ usage: { unknown: usage } });
});

it.each(rows(/^(thread|display_name)$/))('%s is the %s', (attribute, target, beside) => {
  expect(mapped(attribute, 'x', beside).call).toMatchObject({
    [target === 'thread' ? 'thread_id' : target]: 'x',
  });
});

it.each(
  CONVENTIONS.flatMap(([attribute, , , beside]) => (beside ? [[attribute, beside] as const] : [])),
)('%s says nothing without %s', (attribute) => {
  const { call, inputs, output, summary } = mapped(attribute, '7');
  expect([call.thread_id, inputs, output, summary]).toEqual([null, '{}', 'null', '{}']);
});
