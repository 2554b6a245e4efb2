import { ApiProperty } from '@nestjs/swagger';
import type { refusal } from '../errors.js';

type Refusal = ReturnType<typeof refusal>['error'];

export class RefusedDto implements Refusal {
  /** As in docs/errors.md. */
  @ApiProperty({ type: 'string' }) code!: Refusal['code'];
  detail!: string;
}

/** What a batch answers in the place of an item that is refused. */
export class RefusalDto {
  error!: RefusedDto;
}
