import type { CallRow } from '../api/calls.ts';
import { placeAt, suggestions } from './suggestions.ts';

const svc = { status: 'success' as const, latency_ms: 1, trace_name: 'answer' };
const row = (overrides: Partial<CallRow>): CallRow => ({
  id: 'a',
  project_id: 'acme/demo',
  trace_id: 't',
  op_name: 'answer',
  started_at: '2026-11-22T10:00:00.000000Z',
  summary: { svc },
  ...overrides,
});

it.each([
  ['status=err', 10, { from: 0, field: 'status', operator: '=', begun: 'err' }],
  ['status = err', 12, { from: 0, field: 'status', operator: '=', begun: 'err' }],
  ['a sta', 5, { from: 2, begun: 'sta' }],
  ['(sta', 4, { from: 1, begun: 'sta' }],
  ['a op="x y', 9, { from: 2, field: 'op', operator: '=', begun: 'x y' }],
  ['op~"x y" sta', 12, { from: 9, begun: 'sta' }],
  ['a ', 2, { from: 2, begun: '' }],
  ['op=x ', 5, { from: 5, begun: '' }],
  ['abc def', 2, { from: 0, begun: 'ab' }],
])('finds the place in %j at %i', (text, caret, expected) =>
  expect(placeAt(text, caret)).toEqual(expected),
);

const offered = (text: string, rows: CallRow[], documents: CallRow[] = []) =>
  suggestions(placeAt(text, text.length), { rows, documents, tags: ['bug', 'two words'] }).map(
    (one) => one.text,
  );

it('offers the fields of the documents that were seen', () => {
  const documents = [row({ inputs: { question: 'x', deep: { 'a.b': 1, 'c d': 2 } } })];
  expect(offered('inp', [], documents)).toEqual([
    'inputs.question',
    'inputs.deep.a\\.b',
    'inputs.deep.[c d]',
  ]);
});

it('offers the values that were seen, units and words', () => {
  const rows = [row({ thread_id: 't 1' }), row({ summary: { svc, usage: { 'gpt-4': {} } } })];
  expect(offered('thread=', rows)).toEqual(['thread="t 1"']);
  expect(offered('model=', rows)).toEqual(['model=gpt-4']);
  expect(offered('tag=', rows)).toEqual(['tag=bug', 'tag="two words"']);
  expect(offered('status=err', rows)).toEqual(['status=error', 'status=descendant_error']);
  expect(offered('latency>1', rows)).toEqual(['latency>1s', 'latency>10s', 'latency>1m']);
  expect(offered('latency', rows)).toContain('latency>');
  expect(offered('op=x O', rows)).toContain('OR');
});
