import { parseEmoji } from './emoji.js';

describe('parseEmoji', () => {
  it.each([
    ['👍', ':thumbs_up:', '👍', ':thumbs_up:'],
    ['👍🏽', ':thumbs_up_medium_skin_tone:', '👍', ':thumbs_up:'],
    ['👨‍👩‍👧‍👦', ':family_man_woman_girl_boy:', '👨‍👩‍👧‍👦', ':family_man_woman_girl_boy:'],
    ['❤️', ':red_heart:', '❤️', ':red_heart:'],
    ['❤', ':red_heart:', '❤', ':red_heart:'],
    ['🇩🇪', ':flag_germany:', '🇩🇪', ':flag_germany:'],
    ['1️⃣', ':keycap_1:', '1️⃣', ':keycap_1:'],
    ['🏴‍☠️', ':pirate_flag:', '🏴‍☠️', ':pirate_flag:'],
    [
      '👩🏻‍🤝‍👨🏿',
      ':woman_and_man_holding_hands_light_skin_tone_dark_skin_tone:',
      '👫',
      ':woman_and_man_holding_hands:',
    ],
    ['🫱🏻‍🫲🏿', ':handshake_light_skin_tone_dark_skin_tone:', '🤝', ':handshake:'],
  ])('names %s', (emoji, alias, detoned, detoned_alias) => {
    expect(parseEmoji(emoji)).toEqual({ alias, detoned, detoned_alias });
  });

  it.each([
    '',
    'a',
    ':thumbs_up:',
    '1',
    '👍👍',
    '👍 ',
    '🏽',
    '😀🏽',
    '🇩',
    '👍🏽🏽',
    '👩‍💻🏽',
    '👨🏻‍👩🏻‍👧🏻‍👦🏻',
    '\ufe0f👍',
    '❤\ufe0f\ufe0f',
    '\0',
    '\ud83d',
  ])('refuses %p', (text) => {
    expect(parseEmoji(text)).toBeNull();
  });
});
