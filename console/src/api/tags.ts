/**
 * Prefix of a tag's feedback type. Each tag is a type of its own, since filters find feedback by its type:
 * `feedback.[tag.<tag>].payload`.
 */
export const TAG = 'tag.';

/** The tag of a feedback type; undefined for other types. */
export const tagOf = (type: string): string | undefined =>
  type.startsWith(TAG) ? type.slice(TAG.length) : undefined;
