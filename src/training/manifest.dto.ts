import { Type } from 'class-transformer';
import { IsInt, Matches, Max, Min } from 'class-validator';
import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';

/** Largest number of files of one manifest. */
export const MAX_FILES = 1000;
/** Largest number of parts of all files of a job. */
export const MAX_PARTS = 10_000;

export const MAX_FILE_NAME = 256;
/** Path segments joined by `/`. No segment begins with a dot, so a name is safe to write below a folder. */
const FILE_NAME = /^(?=.{1,256}$)[\w-][\w.-]*(\/[\w-][\w.-]*)*$/;
const SHA256 = /^[0-9a-f]{64}$/;

export const IsFileName = () =>
  applyDecorators(
    Matches(FILE_NAME, {
      message:
        'must be a path of 1 to 256 letters, digits, "_", "-", "." and "/", without a part that begins with "."',
    }),
    ApiProperty({ type: 'string', maxLength: MAX_FILE_NAME }),
  );

export const IsSha256 = () =>
  applyDecorators(
    Matches(SHA256, { message: 'must be 64 hexadecimal digits in lower case' }),
    ApiProperty({ type: 'string', minLength: 64, maxLength: 64 }),
  );

/** A file of a manifest. Its parts together have this size and this digest. */
export class ManifestFileDto {
  @IsFileName() name!: string;
  @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) size_bytes!: number;
  @IsSha256() sha256!: string;
}

/** Declares the items of a list of files in a body. */
export const ManifestItem = () => Type(() => ManifestFileDto);

export class CheckpointFileQueryDto {
  @IsFileName() name!: string;
}
