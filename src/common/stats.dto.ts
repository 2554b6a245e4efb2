import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsNumber,
  IsOptional,
  Max,
  Min,
  ValidateBy,
} from 'class-validator';
import { isZone } from './buckets.js';

export const AGGREGATIONS = [
  'sum',
  'avg',
  'min',
  'max',
  'count',
  'count_true',
  'count_false',
] as const;
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
    ValidateBy({
      name: 'isZone',
      validator: {
        validate: isZone,
        defaultMessage: () => 'must be the name of a time zone such as Europe/Berlin',
      },
    }),
    ApiProperty({ type: 'string', example: 'Europe/Berlin', required: false, nullable: true }),
  );
