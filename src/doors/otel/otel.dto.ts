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
  /** Absent when all records were kept. */
  partialSuccess?: LogsRefusedDto;
}

/** Members that are absent are 0, or empty. */
export class MetricsRefusedDto {
  /** A whole number. */
  @ApiPropertyOptional({ example: '1' }) rejectedDataPoints?: string;
  errorMessage?: string;
}

export class MetricsExportedDto {
  /** Absent when there were no data points: none are kept. */
  partialSuccess?: MetricsRefusedDto;
}
