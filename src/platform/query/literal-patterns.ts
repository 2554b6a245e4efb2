/*
 * Patterns and limits that JavaScript and the functions of `query.sql` share. A change here needs the same change in
 * the functions: `test/platform/query-language.e2e-spec.ts` searches their source for these texts.
 */

/**
 * Matches texts that are numbers if they are no longer than `NUMBER_LENGTH`, so that no cast exceeds the range of
 * `numeric`. PostgreSQL and JavaScript use the same pattern, so it has no backslashes and no syntax of only one of
 * them. The length is not part of the pattern: with `{1,200}` instead of `+` a match takes 50 µs instead of 1.
 */
export const NUMBER = '^-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]{1,3})?$';
export const NUMBER_LENGTH = 400;

const MONTH_AND_DAY =
  '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])';
const LEAP_YEAR = '[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00';
const DATE = `(?!0000)(?:[0-9]{4}-(?:${MONTH_AND_DAY})|(?:${LEAP_YEAR})-02-29)`;
const TIME = '(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?';
const OFFSET = 'Z|[-+](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?';

/** Matches date-times of ISO 8601: years 0001 to 9999, days that exist. Without an offset they are UTC. */
export const DATE_TIME = `^${DATE}(?:[T ]${TIME}(?:${OFFSET})?)?$`;

/** Seconds since 1970 at which the years 0001 and 10000 begin. Values outside are infinite. */
export const EPOCH = { first: -62_135_596_800, end: 253_402_300_800 } as const;
