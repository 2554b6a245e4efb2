import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { QueryPipe } from './query.pipe.js';
import type { Dto } from './validation.js';

/** Values of Nest's `RouteParamtypes`, which it does not export. */
const BODY = '3';
const QUERY = '4';

/** A parameter of a handler that takes a whole body, or a whole query. */
export interface DtoParameter {
  /** The declared class of the parameter. It is `Object` when the class was imported as a type. */
  dto: Dto;
  isBody: boolean;
  /** True when the parameter takes a single member, or has no pipe. */
  isPart: boolean;
}

/** Returns the parameters of a handler that receive body or query, found in the same way as `@nestjs/swagger` does. */
export function dtoParameters(controller: Function, handler: Function): DtoParameter[] {
  const parameters: Record<string, { index: number; data?: unknown; pipes: unknown[] }> =
    Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler.name) ?? {};
  const types: Dto[] =
    Reflect.getMetadata('design:paramtypes', controller.prototype, handler.name) ?? [];
  return Object.entries(parameters).flatMap(([key, { index, data, pipes }]) => {
    const [kind] = key.split(':');
    if (kind !== BODY && kind !== QUERY) return [];
    const isBody = kind === BODY;
    const isPart = data !== undefined || (!isBody && !pipes.includes(QueryPipe));
    return [{ dto: types[index]!, isBody, isPart }];
  });
}
