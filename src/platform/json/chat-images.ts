type JsonRecord = Record<string, unknown>;
const isObject = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null;

export interface MessageImage {
  type: string;
  base64: string;
}

/** Members in which clients store an image of a part: as base64, as a `data:` URL, or as an object with either. */
const HOLDERS = ['source', 'image_url', 'inline_data', 'inlineData', 'image', 'file'];
const VALUES = ['data', 'url', 'content', 'image', 'image_url', 'base64'];
const TYPES = ['media_type', 'mime_type', 'mimeType', 'mediaType'];
const DATA_URL = /^data:(image\/[\w.+-]+);base64,/;
const SHORTEST = 64;

/** Returns the image of a part. Images at another URL are ignored, because nothing is fetched from there. */
export function imageIn(part: JsonRecord): MessageImage | undefined {
  const inner = HOLDERS.map((name) => part[name]).find(isObject) ?? part;
  const value = VALUES.map((name) => inner[name]).find((one) => typeof one === 'string');
  if (typeof value !== 'string') return undefined;
  const type = TYPES.map((name) => inner[name] ?? part[name]).find(
    (one) => typeof one === 'string',
  );
  const [head = '', named = type] = DATA_URL.exec(value) ?? [];
  if (typeof named !== 'string' || !named.startsWith('image/')) return undefined;
  const base64 = value.slice(head.length);
  if (base64.length < SHORTEST || !/^[\w+/=-]{64}/.test(base64)) return undefined;
  return { type: named, base64 };
}
