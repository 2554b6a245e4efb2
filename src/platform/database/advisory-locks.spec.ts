import { readdirSync, readFileSync } from 'node:fs';
import { LOCKS } from './advisory-locks.js';

it('no two locks are alike', () => {
  const numbers = Object.values(LOCKS).map(({ number }) => number);
  expect(new Set(numbers).size).toBe(numbers.length);
});

it('nothing takes a lock that is not in the list', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' });
  const takers = files.filter(
    (file) => /[.]ts$/.test(file) && /pg_(try_)?advisory/.test(readFileSync(`src/${file}`, 'utf8')),
  );
  expect(takers.filter((file) => !file.startsWith('platform/database/advisory-locks.'))).toEqual(
    [],
  );
});
