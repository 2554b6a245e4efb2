import { readdirSync, readFileSync } from 'node:fs';
import { oneLock, textLock } from './advisory-locks.js';

it('no two locks are alike', () => {
  oneLock(1);
  expect(() => textLock(1)).toThrow('two advisory locks have the number 1');
});

it('nothing takes a lock that is not declared', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' });
  const takers = files.filter(
    (file) => /[.]ts$/.test(file) && /pg_(try_)?advisory/.test(readFileSync(`src/${file}`, 'utf8')),
  );
  expect(takers.filter((file) => !file.startsWith('platform/database/advisory-locks.'))).toEqual(
    [],
  );
});
