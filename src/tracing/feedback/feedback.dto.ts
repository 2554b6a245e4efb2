import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { IsArray, IsOptional } from 'class-validator';
import {
  AnyJson,
  IsDateTime,
  IsId,
  IsJsonObject,
  IsProjectId,
  IsText,
  IsTextList,
  MaxItems,
  PageDto,
  rule,
  SortBy,
} from '../../platform/http/dto.js';
import { parseRef, type RefKind, refTo } from '../../platform/http/refs.js';
import { RefusalDto } from '../../platform/http/refusal.dto.js';
import type { Sort } from '../../platform/query/columns.js';
import { ScorerColumnsDto } from './scorer-columns.dto.js';

const MAX_BATCH = 1000;
/** Bytes of a ref, so that project and ref fit into one index entry. */
const MAX_REF_BYTES = 2048;

const SHAPES: Record<RefKind, string> = {
  object: 'object/<name>:<digest>',
  op: 'op/<name>:<digest>',
  call: 'call/<id>',
  agent_span: 'agent_span/<id>',
  agent_turn: 'agent_turn/<id>',
  agent_conversation: 'agent_conversation/<id>',
};

/** Accepts a ref of one of the kinds. Its target need not exist. */
const IsRef = (...kinds: RefKind[]) =>
  applyDecorators(
    rule(
      'isRef',
      () =>
        `must be a ref of at most ${MAX_REF_BYTES} bytes: ${refTo('<entity>/<project>', kinds.map((kind) => SHAPES[kind]).join(' or …/'))}`,
      (value) => isRef(value, kinds),
    ),
    ApiProperty({
      type: 'string',
      example: `svc:///acme/demo/${SHAPES[kinds[0]!].replaceAll(/[<>]/g, '')}`,
    }),
  );

function isRef(value: unknown, kinds: RefKind[]): boolean {
  const kind = parseRef(value)?.kind;
  return (
    kind !== undefined &&
    kinds.includes(kind) &&
    !/[\p{Cc}\p{Cs}]/u.test(value as string) &&
    Buffer.byteLength(value as string) <= MAX_REF_BYTES
  );
}

export class FeedbackCreateDto extends ScorerColumnsDto {
  @IsProjectId() project_id!: string;
  /** The ref of the item that the feedback is about. */
  @IsRef('object', 'op', 'call', 'agent_span', 'agent_turn', 'agent_conversation')
  svc_ref!: string;
  /** Any name. The types of docs/adr/0011-feedback.md with the service's prefix have rules of their own. */
  @IsText(255, { min: 1 }) feedback_type!: string;
  /** Free-form, at most 1 MiB. Stored as sent. */
  @IsJsonObject() payload!: object;
  /** The id of the row. Sent again with the same body, the answer is the stored row. */
  @IsOptional() @IsId() id?: string | null;
  @IsOptional() @IsText(256) creator?: string | null;
  @IsOptional() @IsRef('object') annotation_ref?: string | null;
  @IsOptional() @IsRef('op', 'object') runnable_ref?: string | null;
  @IsOptional() @IsRef('call') call_ref?: string | null;
  @IsOptional() @IsRef('object') trigger_ref?: string | null;
  /** The annotation queue in which the feedback is given. */
  @IsOptional() @IsId() queue_id?: string | null;
  /** Ignored: the server sets it from the key. */
  @IsOptional() @AnyJson() svc_user_id?: string | null;
}

export class FeedbackCreatedDto {
  id!: string;
  @IsDateTime() created_at!: string;
  svc_user_id!: string;
  /** Free-form, as it was sent. */
  @IsJsonObject() payload!: object;
}

export class FeedbackReplaceDto extends FeedbackCreateDto {
  /** The row to replace; it may be gone already. The new row takes this id, unless `id` is set. */
  @IsId() feedback_id!: string;
}

/** Each element is a `FeedbackCreateDto`, which is validated on its own. */
export class FeedbackBatchDto {
  @MaxItems(MAX_BATCH)
  @IsArray()
  @ApiProperty({ type: 'array', maxItems: MAX_BATCH, items: { type: 'object' } })
  batch!: unknown[];
}

@ApiExtraModels(FeedbackCreatedDto, RefusalDto)
export class FeedbackBatchCreatedDto {
  /** In the order of the batch: the stored row, or `{error:{code,detail}}` for an invalid element. */
  @ApiProperty({
    type: 'array',
    items: {
      oneOf: [{ $ref: getSchemaPath(FeedbackCreatedDto) }, { $ref: getSchemaPath(RefusalDto) }],
    },
  })
  res!: (FeedbackCreatedDto | RefusalDto)[];
}

export class FeedbackQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  /** Fields to return, also inside the payload: `payload.value`. All when absent. */
  @IsOptional()
  @IsTextList(1000, 1000)
  fields?: string[] | null;
  /** An expression tree: docs/query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Any field, also inside the payload; by default the oldest first. */
  @SortBy() sort_by?: Sort[] | null;
}

/** A stored row. */
export class FeedbackDto extends ScorerColumnsDto {
  id!: string;
  project_id!: string;
  @IsDateTime() created_at!: string;
  svc_ref!: string;
  feedback_type!: string;
  /** Free-form, as it was sent. */
  @IsJsonObject() payload!: object;
  creator!: string | null;
  annotation_ref!: string | null;
  runnable_ref!: string | null;
  call_ref!: string | null;
  trigger_ref!: string | null;
  queue_id!: string | null;
  svc_user_id!: string;
}

@ApiExtraModels(FeedbackDto)
export class FeedbackFoundDto {
  @ApiProperty({
    type: 'array',
    items: {
      anyOf: [
        { $ref: getSchemaPath(FeedbackDto) },
        {
          type: 'object',
          description: 'With `fields`: only those, by their names.',
          additionalProperties: true,
        },
      ],
    },
  })
  result!: object[];
  /** Number of rows on all pages. */
  total_count!: number;
}

export class FeedbackPurgeDto {
  @IsProjectId() project_id!: string;
  /** An expression tree: docs/query-language.md. Matching rows are deleted. */
  @IsJsonObject() query!: object;
}
