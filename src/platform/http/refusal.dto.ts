import { ApiProperty } from '@nestjs/swagger';
import type { refusedItem } from '../errors.js';

type RefusedItemError = ReturnType<typeof refusedItem>['error'];

export class RefusedDto implements RefusedItemError {
  /** As in docs/errors.md. */
  @ApiProperty({ type: 'string' }) code!: RefusedItemError['code'];
  detail!: string;
}

/** What a batch answers in the place of an item that is refused. */
export class RefusalDto {
  error!: RefusedDto;
}
