import type { Request } from 'express';

/** The caller of a guarded route. Unguarded routes have none and must not call this. */
export function callerOf({ user }: Request): Express.User {
  if (!user) throw new Error('the route has no guard, so nobody is known');
  return user;
}
