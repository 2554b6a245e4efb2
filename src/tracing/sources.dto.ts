import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsIn, IsOptional } from 'class-validator';
import { SOURCES } from './conventions/call-source.js';

/** Accepts an optional list of sources of calls: docs/adr/0140-sources-of-calls.md. */
export const IsSources = () =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMaxSize(SOURCES.length),
    IsIn(SOURCES, { each: true }),
    ApiPropertyOptional({
      type: 'array',
      maxItems: SOURCES.length,
      items: { type: 'string', enum: [...SOURCES] },
      nullable: true,
    }),
  );
