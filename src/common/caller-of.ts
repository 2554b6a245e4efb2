import type { Request } from 'express';

/** Who sends a request to a guarded route. Other routes have nobody, and must not ask. */
export function callerOf({ user }: Request): Express.User {
  if (!user) throw new Error('the route has no guard, so nobody is known');
  return user;
}
