import { NEW_SPEC, type SpecDraft, specFault, specId, specValue } from './spec-draft.ts';

const draft = (rest: Partial<SpecDraft>) => ({ ...NEW_SPEC, name: 'Is it good?', ...rest });
const schema = (rest: Partial<SpecDraft>) => specValue(draft(rest)).field_schema;

it('makes the schema of each kind', () => {
  expect(schema({ kind: 'boolean' })).toEqual({ type: 'boolean' });
  expect(schema({ kind: 'number' })).toEqual({ type: 'integer', minimum: 1, maximum: 5 });
  expect(schema({ kind: 'number', from: '', to: '0.5', isWhole: false })).toEqual({
    type: 'number',
    maximum: 0.5,
  });
  expect(schema({ kind: 'choice', choices: 'good\n bad \n\ngood' })).toEqual({
    type: 'string',
    enum: ['good', 'bad'],
  });
  expect(schema({ kind: 'text' })).toEqual({ type: 'string' });
});

it('names the object by what it is called', () => {
  expect(specId(' Is it good? ')).toBe('Is-it-good');
  expect(specId('?!')).toBe('');
});

it.each([
  [{ name: '?' }, /name/],
  [{ kind: 'choice', choices: 'one' }, /two texts/],
  [{ kind: 'number', from: 'x' }, /numbers/],
  [{ kind: 'number', from: '5', to: '5' }, /below/],
] as const)('refuses %j', (rest, message) => {
  expect(specFault(draft(rest))).toMatch(message);
});

it('takes what is complete', () => {
  for (const kind of ['boolean', 'number', 'text'] as const)
    expect(specFault(draft({ kind }))).toBeUndefined();
});
