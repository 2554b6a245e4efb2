import { ChunkBuffer } from './chunk-buffer.js';

it('joins pieces of a byte', () => {
  const pieces = new ChunkBuffer();
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 256));
  for (let at = 0; at < bytes.length; at++) pieces.add(bytes.subarray(at, at + 1));
  expect(pieces.length).toBe(1000);
  expect(pieces.take()).toEqual(bytes);
  expect(pieces.take()).toHaveLength(0);
});
