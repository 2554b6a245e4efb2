import { applyDecorators, SetMetadata, UseGuards } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth } from '@nestjs/swagger';
import { BodyGuard } from '../common/body.guard.js';
import type { Role } from './api-key.entity.js';
import { AccessGuard, ROLE } from './access.guard.js';
import { BASIC_CHALLENGE } from './basic.strategy.js';
import { BEARER_CHALLENGE } from './bearer.strategy.js';
import { keyGuard } from './key.guard.js';

/*
 * What a controller declares. The guards run in the order given: who is it, may this role do it; then the body is read
 * and validated; then the projects it names are held against the key's scopes. Nothing of the database is read before
 * the last of them has passed.
 */

export const BasicGuard = keyGuard(['basic'], BASIC_CHALLENGE);
export const BearerGuard = keyGuard(['bearer'], BEARER_CHALLENGE);
export const EitherGuard = keyGuard(['basic', 'bearer'], `${BASIC_CHALLENGE}, ${BEARER_CHALLENGE}`);

/** Every route of the controller needs `Authorization: Basic`, with an API key as the password. */
export const BasicAuth = () =>
  applyDecorators(UseGuards(BasicGuard, BodyGuard, AccessGuard), ApiBasicAuth());

/** Every route of the controller needs `Authorization: Bearer`, with an API key as the token. */
export const BearerAuth = () =>
  applyDecorators(UseGuards(BearerGuard, BodyGuard, AccessGuard), ApiBearerAuth());

/** Every route of the controller takes either scheme. */
export const EitherAuth = () =>
  applyDecorators(UseGuards(EitherGuard, BodyGuard, AccessGuard), ApiBasicAuth(), ApiBearerAuth());

/** The least role that may call the route. */
export const Allow = (role: Role) => SetMetadata(ROLE, role);

export const NO_PROJECT_FIELD = 'no project field';

/**
 * The route has no field that every request must name its project in, and `why` says who checks the project then, or
 * why there is none to check. Without it, and without such a field, the service does not start.
 */
export const NoProjectField = (why: string) => SetMetadata(NO_PROJECT_FIELD, why);

export const PUBLIC = 'public';

/** The route answers anybody: it shows nothing of a project. */
export const Public = () => SetMetadata(PUBLIC, true);
