import { isRowDigest } from './row-digests.js';

/** The meaning of a client's word for a version of an object. */
export type VersionSelector = 'latest' | { index: number } | { digest: string } | { alias: string };

/**
 * What may be given as a digest: `latest`, `v<version_index>`, a digest, or an alias. Aliases never look like the
 * others, so that a word means one version.
 */
export function versionSelector(word: string): VersionSelector {
  if (word === 'latest') return word;
  const index = /^v(0|[1-9]\d{0,8})$/.exec(word)?.[1];
  if (index !== undefined) return { index: Number(index) };
  return isRowDigest(word) ? { digest: word } : { alias: word };
}

/** A name that may be given to a version. It can stand in a ref. */
export const ALIAS_PATTERN =
  /^(?!latest$|v\d+$|[A-Za-z0-9]{43}$)[^\s/:\p{Cc}\p{Cs}](?:[^\s/:\p{Cc}\p{Cs}]| (?! |$)){0,127}$/u;
