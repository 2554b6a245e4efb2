import { firstTerm, templateRecipe, TEMPLATES } from './recipe-templates.ts';

const found = [
  { feedback: 'svc.note.1', path: 'note', isScore: false },
  { feedback: 'svc.reaction.1', path: 'emoji', isScore: false },
  { feedback: 'svc.runnable.score', path: 'output.score', isScore: true },
];

it('begins with feedback that a project has: a score where answers are compared, else thumbs', () => {
  expect(firstTerm('rl', found)?.path).toBe('output.score');
  expect(firstTerm('dpo', found.slice(0, 2))?.path).toBe('emoji');
  expect(firstTerm('sft', found)?.path).toBe('emoji');
  expect(firstTerm('kto', found.slice(0, 1))).toBeUndefined();
});

it.each(TEMPLATES.map(({ purpose }) => purpose))('has a class and a term for %s', (purpose) => {
  expect(templateRecipe(purpose)).toMatchObject({
    _class_name: 'Recipe',
    version: 1,
    purpose,
    reward: { sum: [{ feedback: expect.any(String) as string }] },
  });
});

it('says what a thumb is worth, and from where on an answer is good', () => {
  const thumb = { feedback: 'svc.reaction.1', path: 'emoji' };
  expect(templateRecipe('sft', thumb)).toMatchObject({
    reward: { sum: [{ map: { '👍': 1, '👎': -1 } }], threshold: 1 },
  });
  const score = { feedback: 'score', path: 'value' };
  expect(templateRecipe('rl', score)).toMatchObject({ reward: { sum: [score] } });
});
