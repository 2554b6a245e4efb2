import {
  applyDecorators,
  Controller,
  HttpCode,
  HttpStatus,
  Post,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { BodyGuard } from '../http/body.guard.js';
import type { Role } from '../roles.js';
import { AccessGuard, ROLE } from './access.guard.js';
import { keyGuard, type Scheme } from './key.guard.js';

/*
 * Declarations of controllers. Three guards run in this order: `key.guard.ts` checks the key and its role, `BodyGuard`
 * reads and validates the body, and `AccessGuard` checks the projects that the body names against the key's scopes. A
 * request's data is read from the database only after the last guard.
 */

/** The guards that authenticate. The first guard of each route is one of them. */
export const AUTHENTICATING = new Set<unknown>();

const DOCUMENTED: Record<Scheme, () => ClassDecorator & MethodDecorator> = {
  basic: ApiBasicAuth,
  bearer: ApiBearerAuth,
};

function authentication(...schemes: Scheme[]) {
  const guard = keyGuard(schemes);
  AUTHENTICATING.add(guard);
  return () =>
    applyDecorators(
      UseGuards(guard, BodyGuard, AccessGuard),
      ...schemes.map((scheme) => DOCUMENTED[scheme]()),
    );
}

export const BasicAuth = authentication('basic');
export const BearerAuth = authentication('bearer');
export const BasicOrBearerAuth = authentication('basic', 'bearer');

export const Resource = (tag: string, access: ClassDecorator, path = '') =>
  applyDecorators(ApiTags(tag), access, Controller(path));

/** Sets the lowest role that may call the route. */
export const Allow = (role: Role) => SetMetadata(ROLE, role);

export const Operation = (path: string | string[], role: Role) =>
  applyDecorators(Post(path), HttpCode(HttpStatus.OK), Allow(role));

export const NO_PROJECT_FIELD = 'no project field';

/**
 * Marks a route without a required field that names the project. `why` explains who checks the project, or why no
 * project is involved. The service does not start when a route has neither this mark nor a project field.
 */
export const NoProjectField = (why: string) => SetMetadata(NO_PROJECT_FIELD, why);

export const PUBLIC = 'public';

/** Marks a route that needs no credential, because it shows nothing of a project. */
export const Public = () => SetMetadata(PUBLIC, true);

export const SHORT_WRITES = 'short writes';

/**
 * Marks a route whose writes hold a connection only briefly. A write under an `Idempotency-Key` is the exception, and
 * names its owner itself. The route runs in no asynchronous context: before Node 24, a context makes each promise in it
 * slower, and starting a call takes a fifth longer.
 */
export const ShortWrites = () => SetMetadata(SHORT_WRITES, true);
