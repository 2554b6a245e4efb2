import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { QueryPipe } from './query.pipe.js';
import type { Dto } from './validation.js';

/** `RouteParamtypes`, which Nest keeps to itself. */
const BODY = '3';
const QUERY = '4';

/** A parameter of a handler that takes a whole body, or a whole query. */
export interface DtoParameter {
  /** The declared class of the parameter. It is `Object` where the class was imported as a type. */
  dto: Dto;
  isBody: boolean;
  /** True when the parameter takes a single member, or has no pipe. */
  isPart: boolean;
}

/** The parameters of a handler that hold what a client says, as `@nestjs/swagger` finds them. */
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
