import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { IsCount, IsDateTime, IsId, IsText, MAX_INT } from '../../platform/http/dto.js';

export class MediaUploadDto {
  /** The trace whose documents name the media file. Without it, `datasetId` and `datasetItemId` are required. */
  @IsOptional() @IsId() traceId?: string | null;
  @IsOptional() @IsId() observationId?: string | null;
  @IsOptional() @IsId() datasetId?: string | null;
  @IsOptional() @IsId() datasetItemId?: string | null;
  /** `input`, `output`, `metadata` or `expectedOutput`. */
  @IsText(64, { min: 1 }) field!: string;
  @IsText(255)
  @Matches(/^[\w.+-]+\/[\w.+-]+(?: ?; ?[\w.+-]+=[\w.+-]+)*$/, {
    message: 'contentType must be a media type such as image/png',
  })
  contentType!: string;
  /** Length in bytes, at most 100 MiB. */
  @IsInt() @Min(1) @Max(MAX_INT) @ApiProperty({ type: 'integer' }) contentLength!: number;
  @IsText(44)
  @Matches(/^[A-Za-z0-9+/]{43}=$/, {
    message: 'sha256Hash must be a SHA-256 in base64, of 44 characters',
  })
  sha256Hash!: string;
}

export class MediaUploadUrlDto {
  mediaId!: string;
  /** Null when the bytes are stored already. */
  @ApiProperty({ type: 'string', nullable: true }) uploadUrl!: string | null;
}

export class MediaReportDto {
  @IsOptional() @IsDateTime() uploadedAt?: string | null;
  @IsInt() @Min(0) @Max(999) @ApiProperty({ type: 'integer' }) uploadHttpStatus!: number;
  @IsOptional() @IsText(65_536) uploadHttpError?: string | null;
  @IsOptional() @IsCount() uploadTimeMs?: number | null;
}

export class MediaReportedDto {
  mediaId!: string;
}

export class MediaDto {
  mediaId!: string;
  contentType!: string;
  @ApiProperty({ type: 'integer' }) contentLength!: number;
  @IsDateTime() uploadedAt!: string;
  /** Returns the bytes to everyone who has this URL, until `urlExpiry`. */
  url!: string;
  @IsDateTime() urlExpiry!: string;
}
