import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/*
 * A secret has 40 characters: `skn_`, 30 random characters (179 bits) and 6 check characters. A scanner recognises a
 * leaked key by them, and a typo is refused without a look-up.
 */
const PREFIX = 'skn_';
const RANDOM_LENGTH = 30;
const CHECK_LENGTH = 6;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECK_LENGTH}}$`);

export function newSecret(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62[randomInt(62)]).join('');
  return PREFIX + random + checksum(random);
}

/** Returns true when the text has the format of a secret and its check characters match. */
export function isSecret(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const random = text.slice(PREFIX.length, PREFIX.length + RANDOM_LENGTH);
  return text.endsWith(checksum(random));
}

/** Returns the CRC32 of the random part in base62, padded with `0` on the left. */
function checksum(random: string): string {
  let rest = crc32(random);
  let check = '';
  for (let i = 0; i < CHECK_LENGTH; i++) {
    check = BASE62[rest % 62] + check;
    rest = Math.floor(rest / 62);
  }
  return check;
}

/** Returns the password of a Basic header, or the token of another one. */
export function sentSecret(authorization: string): string {
  const [scheme = '', value = ''] = authorization.split(' ', 2);
  if (!/^basic$/i.test(scheme)) return value;
  const decoded = Buffer.from(value, 'base64').toString();
  return decoded.slice(decoded.indexOf(':') + 1);
}

export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer');

export const secretHint = (secret: string): string => secret.slice(0, PREFIX.length + 4);
