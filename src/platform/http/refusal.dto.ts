import { ApiProperty } from '@nestjs/swagger';
import type { refusedItem } from '../errors.js';

type RefusedItemError = ReturnType<typeof refusedItem>['error'];

export class RefusedDto implements RefusedItemError {
  /** One of the codes in docs/errors.md. */
  @ApiProperty({ type: 'string' }) code!: RefusedItemError['code'];
  detail!: string;
}

/** Stands in a batch's answer for an item that was refused. */
export class RefusalDto {
  error!: RefusedDto;
}
