import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const SALT_BYTES = 16;
const TAG_BYTES = 16;

/** Derives a cipher key and a nonce from secret and salt. The salt is new for each text, so neither is used twice. */
function deriveKey(secret: string, salt: Buffer): [key: Buffer, nonce: Buffer] {
  const bytes = Buffer.from(hkdfSync('sha256', secret, salt, 'idempotent answer', 32 + 12));
  return [bytes.subarray(0, 32), bytes.subarray(32)];
}

export function seal(text: string, secret: string): string {
  const salt = randomBytes(SALT_BYTES);
  const cipher = createCipheriv(CIPHER, ...deriveKey(secret, salt));
  const body = [cipher.update(text), cipher.final()];
  return Buffer.concat([salt, cipher.getAuthTag(), ...body]).toString('base64');
}

/** @throws Error when the text was sealed with another secret. */
export function unseal(sealed: string, secret: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv(CIPHER, ...deriveKey(secret, bytes.subarray(0, SALT_BYTES)));
  decipher.setAuthTag(bytes.subarray(SALT_BYTES, SALT_BYTES + TAG_BYTES));
  const body = bytes.subarray(SALT_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(body), decipher.final()]).toString();
}
