import { ChunkList } from './chunk-list.js';

it('joins chunks of all sizes in their order', () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 251));
  const list = new ChunkList();
  const sizes = [1, 4095, 4096, 3, 20_000, 2, 2, 4000, 4000, 4000, 4000, 4000];
  for (let at = 0, i = 0; at < bytes.length; at += sizes[i++ % sizes.length]!)
    list.add(bytes.subarray(at, at + sizes[i % sizes.length]!));
  expect(list.length).toBe(bytes.length);
  expect(list.joined().equals(bytes)).toBe(true);
});
