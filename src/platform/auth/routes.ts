import type { INestApplicationContext } from '@nestjs/common';
import { GUARDS_METADATA, METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { BodyGuard } from '../http/body.guard.js';
import { type DtoParameter, dtoParameters } from '../http/handler-dtos.js';
import { assertRules, namesProject } from '../http/validation.js';
import { AUTHENTICATING, NO_PROJECT_FIELD, PUBLIC, SHORT_WRITES } from './access-decorators.js';
import { AccessGuard, ROLE } from './access.guard.js';
import type { Role } from '../roles.js';

export interface Route {
  /** For example `CallsController.read`. */
  name: string;
  /** Paths of the route, with parameters as `:name`. */
  paths: string[];
  hasShortWrites: boolean;
  isPublic: boolean;
  guards: unknown[];
  role: Role | undefined;
  parameters: DtoParameter[];
  /** Reason why no checked field names the project. */
  noProjectField: string | undefined;
}

export function listRoutes(app: INestApplicationContext): Route[] {
  const controllers = [...app.get(ModulesContainer).values()].flatMap((module) => [
    ...module.controllers.values(),
  ]);
  return controllers.flatMap(({ metatype }) => routesOfController(metatype as Function));
}

export function routesOfController(controller: Function): Route[] {
  const handlers = new MetadataScanner()
    .getAllMethodNames(controller.prototype)
    .map((name): Function => controller.prototype[name]);
  return handlers.flatMap((handler) => {
    if (Reflect.getMetadata(METHOD_METADATA, handler) === undefined) return []; // not a route
    const declared = (key: string) =>
      Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller);
    return {
      name: `${controller.name}.${handler.name}`,
      paths: routePaths(controller).flatMap((base) =>
        routePaths(handler).map((path) => `/${base}/${path}`.replaceAll(/\/+/g, '/')),
      ),
      hasShortWrites: declared(SHORT_WRITES) ?? false,
      isPublic: declared(PUBLIC) ?? false,
      guards: [controller, handler].flatMap(
        (target) => Reflect.getMetadata(GUARDS_METADATA, target) ?? [],
      ),
      role: declared(ROLE),
      parameters: dtoParameters(controller, handler),
      noProjectField: declared(NO_PROJECT_FIELD),
    };
  });
}

const routePaths = (target: Function): string[] =>
  [Reflect.getMetadata(PATH_METADATA, target)].flat();

/**
 * Checks that every route declares its access and checks its input. The service does not start otherwise.
 * @throws Error that lists each unsafe route and how to fix it.
 */
export function assertRoutes(routes: Route[]): void {
  const faults = routes.flatMap((route) =>
    [...accessFaults(route), ...bodyFaults(route)].map((fault) => `${route.name} ${fault}`),
  );
  if (faults.length > 0) throw new Error(`routes are not safe to serve:\n${faults.join('\n')}`);
}

function accessFaults({ isPublic, guards, role, parameters }: Route): string[] {
  if (isPublic)
    return parameters.length > 0
      ? ['is @Public(), so no guard would look at its @Body() or @Query(): declare who may call it']
      : [];
  const faults: string[] = [];
  const [first, second, third] = guards;
  if (!AUTHENTICATING.has(first) || second !== BodyGuard || third !== AccessGuard)
    faults.push(
      'needs @BasicAuth(), @BearerAuth() or @BasicOrBearerAuth() as the first of its guards',
    );
  if (!role) faults.push(`needs @Allow('<role>')`);
  return faults;
}

function bodyFaults({ isPublic, parameters, noProjectField }: Route): string[] {
  const faults = parameters.flatMap((parameter) => parameterFault(parameter) ?? []);
  for (const isBody of [true, false])
    if (parameters.filter((parameter) => parameter.isBody === isBody).length > 1)
      faults.push(`has two parameters ${decoratorText(isBody)}: declare one class for both`);
  if (faults.length > 0 || isPublic) return faults;
  const isNamed = parameters.some(({ dto }) => namesProject(dto));
  if (!isNamed && !noProjectField)
    faults.push(
      'names no project: mark the field that does with @IsProjectId(), without @IsOptional(); where there is none, say ' +
        'who checks the project, or why there is no project, with @NoProjectField(…)',
    );
  if (isNamed && noProjectField) faults.push('names a project, so @NoProjectField(…) is not true');
  return faults;
}

const decoratorText = (isBody: boolean) => (isBody ? '@Body()' : '@Query(QueryPipe)');

function parameterFault({ dto, isBody, isPart }: DtoParameter): string | undefined {
  const decorator = decoratorText(isBody);
  if (isPart) return `takes a part of what is sent: take all of it, as ${decorator} of a DTO class`;
  try {
    assertRules(dto);
    return undefined;
  } catch (error) {
    return `has a ${decorator} that cannot be checked: ${(error as Error).message}`;
  }
}
