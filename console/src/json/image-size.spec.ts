import { imageSize } from './image-size.ts';

const padded = (bytes: number[]) => Uint8Array.from([...bytes, ...Array<number>(40).fill(0)]);
const ascii = (text: string) => [...new TextEncoder().encode(text)];
const PNG = [0x89, ...ascii('PNG\r\n'), 0x1a, 0x0a, 0, 0, 0, 13, ...ascii('IHDR')];

it.each<[string, number[]]>([
  ['PNG', [...PNG, 0, 0, 1, 44, 0, 0, 0, 7]],
  ['GIF', [...ascii('GIF89a'), 44, 1, 7, 0]],
  ['JPEG', [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 11, 8, 0, 7, 1, 44]],
  ['WebP, lossy', [...ascii('RIFF    WEBPVP8 '), ...Array<number>(10).fill(0), 44, 1, 7, 0]],
  [
    'WebP, extended',
    [...ascii('RIFF    WEBPVP8X'), ...Array<number>(8).fill(0), 43, 1, 0, 6, 0, 0],
  ],
  [
    'WebP, lossless',
    [
      ...ascii('RIFF    WEBPVP8L'),
      0,
      0,
      0,
      0,
      0x2f,
      299 & 0xff,
      (299 >> 8) | ((6 & 3) << 6),
      6 >> 2,
      0,
    ],
  ],
])('reads the size of %s', (_, bytes) =>
  expect(imageSize(padded(bytes))).toEqual({ width: 300, height: 7 }),
);

it.each<[string, number[]]>([
  ['nothing', []],
  ['an SVG', ascii('<svg xmlns="http://www.w3.org/2000/svg" width="3" height="4">')],
  ['a JPEG that ends', [0xff, 0xd8, 0xff, 0xe0, 0xff, 0xff]],
  ['a JPEG that is none', [0xff, 0xd8, 1, 2, 3]],
])('knows no size of %s', (_, bytes) => expect(imageSize(padded(bytes))).toBeUndefined());
