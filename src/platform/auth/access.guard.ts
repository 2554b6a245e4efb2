import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { callerOf } from '../http/caller-of.js';

export const ROLE = 'role';

/**
 * Refuses a request whose body names a project outside the key's scopes, or whose key was revoked while the body came.
 * Runs behind `BodyGuard`.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const caller = callerOf(request);
    await caller.assertValid();
    for (const project of request.projects ?? []) caller.assertReaches(project);
    return true;
  }
}
