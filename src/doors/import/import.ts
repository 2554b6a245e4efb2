import { LangfuseImport } from './langfuse.js';
import { OtlpImport } from './otlp-json.js';
import { PhoenixImport } from './phoenix.js';
import { type FileRecord, readRecords, fileSize } from './records.js';
import { printable } from '../../platform/process/printable.js';
import { type Importer, ImportTally, InvalidRecord } from './import-batch.js';
import type { TargetService } from './target-service.js';

export const FORMATS = {
  langfuse: LangfuseImport,
  phoenix: PhoenixImport,
  'otlp-json': OtlpImport,
};
export type ImportFormat = keyof typeof FORMATS;

const MIB = 1024 * 1024;

interface ImportProgress {
  say: (line: string) => void;
  /** Interval between two lines of progress. */
  everyMs: number;
}

/**
 * Sends a file record by record. Refused records are reported with their line, and the import continues.
 * @throws Error with the line of a record that cannot be read
 */
export async function importFile(
  file: string,
  format: ImportFormat,
  service: TargetService,
  { say, everyMs }: ImportProgress,
): Promise<ImportTally> {
  const tally = new ImportTally(say);
  const importer = new FORMATS[format](service, tally);
  const total = await fileSize(file);
  const began = performance.now();
  let said = began;
  let read = 0;
  for await (const record of readRecords(file, (bytes) => (read += bytes))) {
    await add(importer, record, file);
    if (performance.now() - said < everyMs) continue;
    said = performance.now();
    const rate = (read / MIB / ((said - began) / 1000)).toFixed(1);
    say(`import: ${Math.floor((100 * read) / total)} % read, ${tally.summary()}, ${rate} MiB/s`);
  }
  await importer.flush();
  return tally;
}

async function add(importer: Importer, { text, line }: FileRecord, file: string): Promise<void> {
  const wrong = (cause: unknown) =>
    new Error(`${file}:${line}: ${printable((cause as Error).message)}`, { cause });
  try {
    JSON.parse(text);
  } catch (error) {
    throw wrong(error);
  }
  await importer.add({ text, line }).catch((error: unknown) => {
    throw error instanceof InvalidRecord ? wrong(error) : error;
  });
}
