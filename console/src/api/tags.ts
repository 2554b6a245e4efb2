/** A tag is a type of feedback of its own, since a filter finds feedback by its type: `feedback.[tag.<tag>].payload`. */
export const TAG = 'tag.';

/** The tag that a type of feedback stands for. */
export const tagOf = (type: string): string | undefined =>
  type.startsWith(TAG) ? type.slice(TAG.length) : undefined;
