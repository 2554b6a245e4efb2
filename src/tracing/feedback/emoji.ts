import emojiData from 'unicode-emoji-json' with { type: 'json' };

/** Names of an emoji: `👍🏽` is `:thumbs_up_medium_skin_tone:`; without its tone it is `👍`, `:thumbs_up:`. */
export interface Emoji {
  alias: string;
  detoned: string;
  detoned_alias: string;
}

const TONES = new Map([
  ['\u{1f3fb}', 'light'],
  ['\u{1f3fc}', 'medium_light'],
  ['\u{1f3fd}', 'medium'],
  ['\u{1f3fe}', 'medium_dark'],
  ['\u{1f3ff}', 'dark'],
]);
const TONE = /\p{Emoji_Modifier}/gu;
/** A tone in a valid position: after a person or a part of one. */
const TONED = /\p{Emoji_Modifier_Base}\p{Emoji_Modifier}/gu;

/** Pairs that Unicode encodes as one character when both have the same tone or none. */
const PAIRS = new Map([
  ['👩‍🤝‍👩', '👭'],
  ['👩‍🤝‍👨', '👫'],
  ['👨‍🤝‍👨', '👬'],
  ['🫱‍🫲', '🤝'],
  ['🧑‍🐰‍🧑', '👯'],
  ['👨‍🐰‍👨', '👯‍♂️'],
  ['👩‍🐰‍👩', '👯‍♀️'],
  ['🧑‍🫯‍🧑', '🤼'],
  ['👨‍🫯‍👨', '🤼‍♂️'],
  ['👩‍🫯‍👩', '🤼‍♀️'],
]);

/** Removes the selector U+FE0F. The table includes it, but clients often leave it out. */
const bare = (text: string) => text.replaceAll('\ufe0f', '');

/** A selector must follow the character that it applies to. */
const MISPLACED = /^\ufe0f|\ufe0f\ufe0f/;

const KNOWN = new Map(
  Object.entries(emojiData).map(([emoji, { slug, skin_tone_support }]) => [
    bare(emoji),
    { emoji, slug, hasTones: skin_tone_support },
  ]),
);

/** Returns null when the text is not exactly one emoji of Unicode's list. A family or a flag counts as one. */
export function parseEmoji(text: string): Emoji | null {
  if (MISPLACED.test(text)) return null;
  const tones = text.match(TONE) ?? [];
  const toneless = bare(text.replaceAll(TONE, ''));
  const known = KNOWN.get(bare(PAIRS.get(toneless) ?? toneless));
  const toned = text.match(TONED) ?? [];
  if (!known || toned.length < tones.length || (tones.length > 0 && !known.hasTones)) return null;
  const alias = [known.slug, ...tones.map((tone) => `${TONES.get(tone)}_skin_tone`)].join('_');
  return {
    alias: `:${alias}:`,
    detoned: tones.length > 0 ? known.emoji : text,
    detoned_alias: `:${known.slug}:`,
  };
}
