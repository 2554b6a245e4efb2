import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { TIERS } from './call-slots.query.js';

it('tiers are those of the prices that ship with the service', () => {
  const path = createRequire(import.meta.url).resolve('@pydantic/genai-prices');
  const starts = [...readFileSync(path, 'utf8').matchAll(/\bstart: ?([0-9.e]+)/g)].map(
    ([, start]) => Number(start) + 1,
  );
  expect([...new Set(starts)].toSorted((a, b) => a - b)).toEqual(TIERS);
});
