import { hashSecret, secretHint, isSecret, newSecret } from './secret.js';

it('has 40 characters, the last six of which check the others', () => {
  for (let i = 0; i < 100; i++) {
    const secret = newSecret();
    expect(secret).toMatch(/^skn_[0-9A-Za-z]{36}$/);
    expect(isSecret(secret)).toBe(true);
    const at = 4 + (i % 36);
    const typo = secret.slice(0, at) + (secret[at] === 'a' ? 'b' : 'a') + secret.slice(at + 1);
    expect(isSecret(typo)).toBe(false);
  }
});

it.each(['', 'skn_', `sk_${'0'.repeat(36)}`, `skn_${'0'.repeat(36)}`, `skn_${'0'.repeat(37)}`])(
  'refuses %j',
  (text) => expect(isSecret(text)).toBe(false),
);

it('shows eight characters, stores a hash', () => {
  const secret = newSecret();
  expect(secretHint(secret)).toBe(secret.slice(0, 8));
  expect(hashSecret(secret)).toHaveLength(32);
});
