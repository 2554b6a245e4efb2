import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { assertValid, type Dto } from './validation.js';

/** Validates query parameters by their DTO. They arrive as text: a property of type `number` is parsed as a number. */
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
    assertValid(dto, values);
    return values;
  }
}

const isNumeric = (value: unknown) => typeof value === 'string' && /^-?\d+$/.test(value);
