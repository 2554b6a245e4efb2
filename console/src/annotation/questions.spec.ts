import type { FieldSchema } from '../api/annotation.ts';
import { answerByKey, answerValue, choiceKey, nextUnanswered, toQuestion } from './questions.ts';

const question = (name: string, schema: FieldSchema) =>
  toQuestion({ name, ref: name, label: name, description: '', schema });
const good = question('good', { type: 'boolean' });
const stars = question('stars', { type: 'integer', minimum: 1, maximum: 5 });
const tone = question('tone', { enum: ['warm', 'cold'] });
const why = question('why', { type: 'string' });

it('knows the form of a schema', () => {
  expect([good, stars, tone, why].map(({ kind }) => kind)).toEqual([
    'choice',
    'choice',
    'choice',
    'text',
  ]);
  expect(question('n', { type: 'integer', minimum: 0, maximum: 100 }).kind).toBe('number');
  expect(question('o', { type: 'object' }).kind).toBe('json');
});

it('has a key for each choice', () => {
  expect(good.choices.map((_, n) => choiceKey(good, n))).toEqual(['y', 'n']);
  expect(stars.choices.map((_, n) => choiceKey(stars, n))).toEqual(['1', '2', '3', '4', '5']);
  const ten = question('ten', { type: 'integer', minimum: 1, maximum: 10 });
  expect(choiceKey(ten, 9)).toBe('0');
  expect(tone.choices.map((_, n) => choiceKey(tone, n))).toEqual(['1', '2']);
});

it('lets a key answer the question at hand, else the next that has it', () => {
  const all = [good, stars, tone, why];
  expect(answerByKey(all, 0, '2')).toEqual({ at: 1, answer: '2' });
  expect(answerByKey(all, 2, '2')).toEqual({ at: 2, answer: '"cold"' });
  expect(answerByKey(all, 2, 'y')).toEqual({ at: 0, answer: 'true' });
  expect(answerByKey(all, 0, '9')).toBeUndefined();
});

it('goes on to the next question without an answer', () => {
  const all = [good, stars, why];
  expect(nextUnanswered(all, { stars: '1' }, 0)).toBe(2);
  expect(nextUnanswered(all, { stars: '1', why: 'x', good: 'true' }, 1)).toBe(1);
});

it('sends values, not texts', () => {
  expect(answerValue(stars, '4')).toBe(4);
  expect(answerValue(good, 'false')).toBe(false);
  expect(answerValue(tone, '"cold"')).toBe('cold');
  expect(answerValue(why, '4')).toBe('4');
});
