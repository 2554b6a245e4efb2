import { seal, unseal } from './seal.js';

it('is read with the secret, and with nothing else', () => {
  const sealed = seal('{"secret":"ü"}', 'mine');
  expect(unseal(sealed, 'mine')).toBe('{"secret":"ü"}');
  expect(() => unseal(sealed, 'yours')).toThrow('authenticate');
  expect(sealed).not.toBe(seal('{"secret":"ü"}', 'mine'));
});
