import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { isScope } from '../../../platform/auth/grants.js';
import { PROJECT_PART_RULE, rule, SortBy } from '../../../platform/http/dto.js';
import type { Sort } from '../../../platform/query/columns.js';
import { COUNTERS } from './quotas.query.js';

const SORTS = ['scope', ...COUNTERS] as const;
const MAX_PAGE = 1000;

export class QuotasQueryDto {
  /** The day in UTC, such as 2026-01-31. Today when absent. */
  @IsOptional() @IsDay() day?: string | null;
  /** At most 1000; 100 when absent. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_PAGE) limit?: number | null;
  /** The most requests first by default; `scope` breaks ties. */
  @SortBy(SORTS) sort_by?: Sort<(typeof SORTS)[number]>[] | null;
}

function IsDay() {
  return rule(
    'isDay',
    'must be a day such as 2026-01-31',
    (value) =>
      typeof value === 'string' &&
      /^\d{4}-\d\d-\d\d$/.test(value) &&
      new Date(value).toJSON()?.startsWith(value),
  );
}

/** Limits of a scope. Null is the default of the settings for an entity, and no limit for a project. */
export class QuotaLimitsDto {
  /** Bytes that are stored, as `/projects/query` counts them. */
  @ApiProperty({ type: 'integer', nullable: true }) stored_bytes!: number | null;
  /** Bytes that are written to the database in a day (UTC). */
  @ApiProperty({ type: 'integer', nullable: true }) written_bytes_per_day!: number | null;
  /** Starts of calls in a day (UTC). */
  @ApiProperty({ type: 'integer', nullable: true }) calls_per_day!: number | null;
  /** Requests in a minute: of the keys of an entity, and those that name a project. */
  @ApiProperty({ type: 'integer', nullable: true }) requests_per_minute!: number | null;
}

const IsLimit = () => applyDecorators(IsOptional(), IsInt(), Min(0), Max(Number.MAX_SAFE_INTEGER));

export class QuotaSetDto {
  /** `<entity>/*` or `<entity>/<project>`. */
  @IsTenantScope() scope!: string;
  @IsLimit() stored_bytes?: number | null;
  @IsLimit() written_bytes_per_day?: number | null;
  @IsLimit() calls_per_day?: number | null;
  @IsLimit() requests_per_minute?: number | null;
}

function IsTenantScope() {
  return rule(
    'isTenantScope',
    `must be <entity>/* or <entity>/<project>; each name must ${PROJECT_PART_RULE}`,
    (value) => isScope(value) && value !== '*',
  );
}

export class QuotaDto extends QuotaLimitsDto {
  scope!: string;
}

/** The use of a scope. All numbers but `stored_bytes` are of one day. They are some seconds late. */
export class ScopeUseDto {
  /** `<entity>/*` or `<entity>/<project>`. */
  scope!: string;
  /** Requests of the keys of an entity, and those that name a project. */
  @ApiProperty({ type: 'integer' }) requests!: number;
  /** Requests among them that a quota refused. */
  @ApiProperty({ type: 'integer' }) refused_requests!: number;
  /** Bytes that these requests took on their connections, compressed and with headers. */
  @ApiProperty({ type: 'integer' }) received_bytes!: number;
  /** Bytes of the rows that were written to the database, before they are compressed. */
  @ApiProperty({ type: 'integer' }) written_bytes!: number;
  /** Starts of calls. */
  @ApiProperty({ type: 'integer' }) calls!: number;
  /** Time for which connection slots were held; only counted by entity. */
  @ApiProperty({ type: 'integer' }) slot_ms!: number;
  /** Bytes that are stored now. */
  @ApiProperty({ type: 'integer' }) stored_bytes!: number;
  @ApiProperty({ type: QuotaLimitsDto }) limits!: QuotaLimitsDto;
}

export class ScopeUsesDto {
  @ApiProperty({ type: [ScopeUseDto] }) scopes!: ScopeUseDto[];
}
