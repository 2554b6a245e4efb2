import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  Max,
  Min,
} from 'class-validator';
import { isZone } from '../../platform/time/buckets.js';
import { IsDateTime, IsProjectId, MAX_INT, rule } from '../../platform/http/dto.js';

const AGGREGATIONS = ['sum', 'avg', 'min', 'max', 'count', 'count_true', 'count_false'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

export const IsAggregations = () =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMaxSize(AGGREGATIONS.length),
    IsIn(AGGREGATIONS, { each: true }),
    ApiProperty({ enum: AGGREGATIONS, isArray: true, required: false, nullable: true }),
  );

export const IsPercentiles = () =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMaxSize(20),
    IsNumber({}, { each: true }),
    Min(0, { each: true }),
    Max(100, { each: true }),
    ApiProperty({ type: 'number', isArray: true, required: false, nullable: true }),
  );

export const IsZone = () =>
  applyDecorators(
    rule('isZone', 'must be the name of a time zone such as Europe/Berlin', isZone),
    ApiProperty({ type: 'string', example: 'Europe/Berlin', required: false, nullable: true }),
  );

/** The window of statistics over time. */
export class StatsWindowDto {
  @IsProjectId() project_id!: string;
  /** Inclusive. */
  @IsDateTime() start!: string;
  /** Exclusive; now when absent. */
  @IsOptional() @IsDateTime() end?: string | null;
  /** Seconds of a bucket. When absent, the length of the window decides. It is raised to stay within 10,000 buckets. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_INT) granularity?: number | null;
  /** Time zone to which buckets are aligned; UTC when absent. */
  @IsOptional() @IsZone() timezone?: string | null;
}

type Members = Record<string, { type: string; nullable?: boolean }>;

/**
 * Returns the schema of a bucket: fields of every bucket, optional fields, and the requested values under their names.
 * A value is a number, or null when there is no data. Generated types need one type for all other members, so it
 * includes strings too.
 */
export const bucketSchema = (members: Members = {}, optional: Members = {}) => ({
  type: 'object',
  required: ['timestamp', 'count', ...Object.keys(members)],
  properties: {
    timestamp: { type: 'string', format: 'date-time' },
    count: { type: 'integer' },
    ...members,
    ...optional,
  },
  additionalProperties: { nullable: true, oneOf: [{ type: 'number' }, { type: 'string' }] },
});

export class StatsAnswerDto {
  /** Start of the window that was used, in UTC. */
  start!: string;
  end!: string;
  /** Seconds of a bucket. */
  granularity!: number;
  timezone!: string;
}
