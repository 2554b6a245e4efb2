import { isRowDigest } from './tables/row-digests.js';

/** How a client names a version of an object: the latest one, its index, its digest or an alias. */
export type VersionSelector = 'latest' | { index: number } | { digest: string } | { alias: string };

/**
 * Parses a word for a version: `latest`, `v<version_index>`, a digest, or an alias. Aliases never look like the others,
 * so a word has one meaning.
 */
export function versionSelector(word: string): VersionSelector {
  if (word === 'latest') return word;
  const index = /^v(0|[1-9]\d{0,8})$/.exec(word)?.[1];
  if (index !== undefined) return { index: Number(index) };
  return isRowDigest(word) ? { digest: word } : { alias: word };
}

/** An alias of a version. It can be part of a ref. */
export const ALIAS_PATTERN =
  /^(?!latest$|v\d+$|[A-Za-z0-9]{43}$)[^\s/:\p{Cc}\p{Cs}](?:[^\s/:\p{Cc}\p{Cs}]| (?! |$)){0,127}$/u;
