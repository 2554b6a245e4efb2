import { BodyBudget } from '../../../platform/http/body-budget.js';
import { readWholeAnswer } from './recorded-answer.js';

it('keeps an answer as a text that would take too much memory to read', async () => {
  const text = `[${'[],'.repeat(3_000_000)}[]]`;
  const memory = new BodyBudget(1e9).hold('acme/key');
  for (const heavy of [text, '['.repeat(100_000)]) {
    const { value, error } = await readWholeAnswer(Buffer.from(heavy), memory);
    expect([value, error]).toEqual([undefined, 'the answer cannot be read']);
  }
});
