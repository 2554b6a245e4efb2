import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { invalidRequest } from './errors.js';
import { type Dto, validate } from './validation.js';

/** Validates query parameters by their DTO. They come as text: what a property of type `number` holds is read as one. */
@Injectable()
export class QueryPipe implements PipeTransform {
  transform(query: Record<string, unknown>, { metatype }: ArgumentMetadata): unknown {
    const dto = metatype as Dto;
    const values = Object.fromEntries(
      Object.entries(query).map(([name, value]) => {
        const type = Reflect.getMetadata('design:type', dto.prototype, name);
        return [name, type === Number && isNumeric(value) ? Number(value) : value];
      }),
    );
    const { violations } = validate(dto, values);
    if (violations.length > 0) throw invalidRequest(violations);
    return values;
  }
}

const isNumeric = (value: unknown) => typeof value === 'string' && /^-?\d+$/.test(value);
