/** Most levels of JSON inside JSON strings. */
const MAX_DEPTH = 8;

/**
 * Yields the texts in which a search looks for a needle: the text itself and, if it is JSON, the text with decoded
 * escapes. The same is done for each string in it that is JSON. `skein_says` in query.sql searches stored documents by
 * the same rule.
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
/** Matches strings that begin like JSON. */
const NESTED = /"(?:\s|\\[nrt])*(?:[[{]|\\"|\\u0022)(?:[^"\\]|\\.)*"/gs;

const decodeEscapes = (text: string) =>
  text.replaceAll(
    /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/g,
    (escape) => JSON.parse(`"${escape}"`) as string,
  );
