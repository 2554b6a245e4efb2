import type { CallRow } from '../api/calls.ts';
import { suggestions, wordAt } from './suggest.ts';

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
  ['status=err', 10, { word: 'status=err', from: 0 }],
  ['a sta', 5, { word: 'sta', from: 2 }],
  ['a op="x y', 9, { word: 'op="x y', from: 2 }],
  ['op~"x y" sta', 12, { word: 'sta', from: 9 }],
  ['a ', 2, { word: '', from: 2 }],
  ['abc def', 2, { word: 'ab', from: 0 }],
])('finds the word of %j at %i', (text, caret, expected) =>
  expect(wordAt(text, caret)).toEqual(expected),
);

it('offers the fields of the documents that were seen', () => {
  const documents = [row({ inputs: { question: 'x', deep: { 'a.b': 1 } } })];
  expect(suggestions('inp', [], documents)).toEqual(['inputs.question', 'inputs.deep.a\\.b']);
});

it('offers the values that were seen', () => {
  const rows = [row({ thread_id: 't 1' }), row({ summary: { svc, usage: { 'gpt-4': {} } } })];
  expect(suggestions('thread=', rows, [])).toEqual(['thread="t 1"']);
  expect(suggestions('model=', rows, [])).toEqual(['model=gpt-4']);
  expect(suggestions('status=err', rows, [])).toEqual(['status=error', 'status=descendant_error']);
});
