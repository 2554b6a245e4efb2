import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';

export const ROLE = 'role';

/**
 * Refuses a request whose body names a project outside the key's scopes, or whose key was revoked while the body
 * arrived. Runs after `BodyGuard`.
 */
@Injectable()
export class AccessGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { caller, projects } = context.switchToHttp().getRequest<IncomingMessage>().context;
    await caller.assertValid();
    for (const project of projects) caller.assertReaches(project);
    return true;
  }
}
