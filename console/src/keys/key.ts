import type { Schema } from '../api/client.ts';

export type Key = Schema<'KeyDto'>;

export function keyState(
  { expires_at, revoked_at }: Pick<Key, 'expires_at' | 'revoked_at'>,
  now: number,
): 'active' | 'revoked' | 'expired' {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : 'active';
}

export const parseScopes = (text: string): string[] => [
  ...new Set(text.split(/[\s,]+/).filter((word) => word !== '')),
];

/** True for a text that the service accepts as a scope. */
export const isScope = (text: string): boolean =>
  /^(\*|[\w.-]{1,128}\/(\*|[\w.-]{1,128}))$/.test(text);
