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
import type { Role } from './api-key.entity.js';
import { AccessGuard, ROLE } from './access.guard.js';
import { BASIC_CHALLENGE } from './basic.strategy.js';
import { BEARER_CHALLENGE } from './bearer.strategy.js';
import { keyGuard } from './key.guard.js';

/*
 * What a controller declares. The guards run in the order given: authentication, role, body (read and validated), then
 * the projects it names against the key's scopes. The request's data is read from the database only after the last of
 * them.
 */

export const BasicGuard = keyGuard(['basic'], BASIC_CHALLENGE);
export const BearerGuard = keyGuard(['bearer'], BEARER_CHALLENGE);
export const BasicOrBearerGuard = keyGuard(
  ['basic', 'bearer'],
  `${BASIC_CHALLENGE}, ${BEARER_CHALLENGE}`,
);

/** Every route of the controller needs `Authorization: Basic`, with an API key as the password. */
export const BasicAuth = () =>
  applyDecorators(UseGuards(BasicGuard, BodyGuard, AccessGuard), ApiBasicAuth());

/** Every route of the controller needs `Authorization: Bearer`, with an API key as the token. */
export const BearerAuth = () =>
  applyDecorators(UseGuards(BearerGuard, BodyGuard, AccessGuard), ApiBearerAuth());

/** Every route of the controller takes either scheme. */
export const BasicOrBearerAuth = () =>
  applyDecorators(
    UseGuards(BasicOrBearerGuard, BodyGuard, AccessGuard),
    ApiBasicAuth(),
    ApiBearerAuth(),
  );

/** A controller: what its operations are listed under, who may call them, and what their paths begin with. */
export const Resource = (tag: string, access: ClassDecorator, path = '') =>
  applyDecorators(ApiTags(tag), access, Controller(path));

/** The least role that may call the route. */
export const Allow = (role: Role) => SetMetadata(ROLE, role);

/** An operation: POST, answered 200, for keys with the role at least. */
export const Operation = (path: string | string[], role: Role) =>
  applyDecorators(Post(path), HttpCode(HttpStatus.OK), Allow(role));

export const NO_PROJECT_FIELD = 'no project field';

/**
 * Marks a route without a required field that names the project; `why` says who checks the project, or why there is
 * none to check. The service does not start with a route that has neither this nor such a field.
 */
export const NoProjectField = (why: string) => SetMetadata(NO_PROJECT_FIELD, why);

export const PUBLIC = 'public';

/** The route answers anybody: it shows nothing of a project. */
export const Public = () => SetMetadata(PUBLIC, true);

export const SHORT_WRITES = 'short writes';

/**
 * The writes of the route hold no connection for long, except under an `Idempotency-Key`, which says whose they are: it runs
 * in no asynchronous context. Before Node 24, one makes each promise in it slower: a start of a call costs a fifth more.
 */
export const ShortWrites = () => SetMetadata(SHORT_WRITES, true);
