import { ApiPropertyOptional } from '@nestjs/swagger';

/** Absent members have the value 0 or an empty text. */
export class SpansRefusedDto {
  /** A whole number, as a string. */
  @ApiPropertyOptional({ example: '1' }) rejectedSpans?: string;
  @ApiPropertyOptional({ example: 'startTimeUnixNano is required' }) errorMessage?: string;
}

export class SpansExportedDto {
  /** Absent when all spans were stored. */
  partialSuccess?: SpansRefusedDto;
}

/** Absent members have the value 0 or an empty text. */
export class LogsRefusedDto {
  /** A whole number, as a string. */
  @ApiPropertyOptional({ example: '1' }) rejectedLogRecords?: string;
  errorMessage?: string;
}

export class LogsExportedDto {
  /** Absent when all records were kept. */
  partialSuccess?: LogsRefusedDto;
}

/** Absent members have the value 0 or an empty text. */
export class MetricsRefusedDto {
  /** A whole number, as a string. */
  @ApiPropertyOptional({ example: '1' }) rejectedDataPoints?: string;
  errorMessage?: string;
}

export class MetricsExportedDto {
  /** Absent when the request had no data points. Skein keeps none. */
  partialSuccess?: MetricsRefusedDto;
}
