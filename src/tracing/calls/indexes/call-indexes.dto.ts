import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { IsProjectId, IsText } from '../../../platform/http/dto.js';
import { MAX_NAME } from '../../../platform/query/columns.js';

const KINDS = ['text', 'number', 'substring'] as const;
export type IndexKind = (typeof KINDS)[number];

export class CallIndexDto {
  @IsProjectId() project_id!: string;
  /**
   * A path in `attributes`, `inputs`, `output` or `summary`, as queries spell it: `inputs.model`. For the kind
   * `substring` also one of these documents as a whole.
   */
  @IsText(MAX_NAME, { min: 1 }) field!: string;
  /**
   * `text`, the default, serves comparisons with texts; `number` serves comparisons with numbers; `substring` serves
   * `$contains`.
   */
  @IsOptional()
  @IsIn(KINDS)
  @ApiPropertyOptional({ enum: KINDS, nullable: true })
  kind?: IndexKind | null;
}

export class CallIndexesQueryDto {
  @IsProjectId() project_id!: string;
}

export class CallIndexStateDto {
  field!: string;
  @ApiProperty({ enum: KINDS }) kind!: IndexKind;
  @ApiProperty({ enum: ['building', 'ready', 'failed'] }) status!: string;
  @ApiProperty({ type: 'string', nullable: true }) error!: string | null;
  size_bytes!: number;
  created_at!: string;
}

export class CallIndexAnswerDto {
  index!: CallIndexStateDto;
}

export class CallIndexesDto {
  indexes!: CallIndexStateDto[];
}
