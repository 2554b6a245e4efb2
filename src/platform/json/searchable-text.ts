/** How deep JSON may be nested in strings of JSON. */
const MAX_DEPTH = 8;

/**
 * The texts that a text stands for: itself and, where it is JSON, its text with the escapes decoded, and those of each string in it that is JSON.
 * `skein_says` in query.sql searches stored documents by the same rule.
 */
export function* searchableTexts(text: string, depth = 0): Generator<string> {
  yield text;
  if (depth === MAX_DEPTH || !text.includes('\\') || !isLikeJson(text)) return;
  yield decodeEscapes(text);
  for (const [string] of text.matchAll(NESTED))
    yield* searchableTexts(decodeEscapes(string.slice(1, -1)), depth + 1);
}

const isLikeJson = (text: string) => {
  const trimmed = text.trim();
  return ['{}', '[]', '""'].includes(`${trimmed[0]}${trimmed.at(-1)}`) && text.includes('"');
};
/** Strings of JSON that begin as JSON does. */
const NESTED = /"(?:\s|\\[nrt])*(?:[[{]|\\"|\\u0022)(?:[^"\\]|\\.)*"/gs;

const decodeEscapes = (text: string) =>
  text.replaceAll(
    /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/g,
    (escape) => JSON.parse(`"${escape}"`) as string,
  );
