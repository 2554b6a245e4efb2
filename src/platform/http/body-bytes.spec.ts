import { BodyBytes, freeBytes } from './body-bytes.js';

const bytes = Buffer.from(Array.from({ length: 1_000_000 }, (_, i) => i % 251));

function fillBody(length: number, sizes: readonly number[]): BodyBytes {
  const body = new BodyBytes(length);
  for (let at = 0, i = 0; at < length; i++) {
    const size = sizes[i % sizes.length]!;
    body.add(bytes.subarray(at, Math.min(length, at + size)));
    at += size;
  }
  return body;
}

it.each<[length: number, sizes: number[]]>([
  [0, [1]],
  [10, [10]],
  [100_000, [1, 4095, 4096, 3, 20_000, 2, 2, 4000, 4000]],
  [100_000, [100_000]],
  [3000, [1]],
  [1_000_000, [65_536]],
])('joins %d bytes that come in chunks of %j', (length, sizes) => {
  const body = fillBody(length, sizes);
  expect(body.length).toBe(length);
  expect(body.joined().equals(bytes.subarray(0, length))).toBe(true);
});

it('gives back the memory of a large body, or of one in many chunks, at once', () => {
  for (const body of [fillBody(1_000_000, [65_536]), fillBody(3000, [1])]) {
    const joined = body.joined();
    freeBytes(joined);
    expect(joined).toHaveLength(0);
    expect(joined.buffer.byteLength).toBe(0);
  }
});

it('leaves a small body as it is, which may be part of a larger buffer', () => {
  const joined = fillBody(1000, [500]).joined();
  freeBytes(joined);
  expect(joined.equals(bytes.subarray(0, 1000))).toBe(true);
});
