import { ApiPropertyOptional } from '@nestjs/swagger';

/** Members that are absent are 0, or empty. */
export class SpansRefusedDto {
  /** A whole number. */
  @ApiPropertyOptional({ example: '1' }) rejectedSpans?: string;
  @ApiPropertyOptional({ example: 'startTimeUnixNano is required' }) errorMessage?: string;
}

export class SpansExportedDto {
  /** Absent when all spans were stored. */
  partialSuccess?: SpansRefusedDto;
}

/** Members that are absent are 0, or empty. */
export class LogsRefusedDto {
  /** A whole number. */
  @ApiPropertyOptional({ example: '1' }) rejectedLogRecords?: string;
  errorMessage?: string;
}

export class LogsExportedDto {
  /** Absent when all records were taken. */
  partialSuccess?: LogsRefusedDto;
}

export class MetricsExportedDto {
  /** Never there: nothing is kept, and nothing refused. */
  @ApiPropertyOptional({ type: 'object', maxProperties: 0, additionalProperties: false })
  partialSuccess?: object;
}
