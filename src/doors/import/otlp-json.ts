import { elementTexts, memberTexts } from '../../platform/json/json-text.js';
import type { FileRecord } from './records.js';
import { ImportBatch, type Importer, type ImportTally, InvalidRecord } from './import-batch.js';
import type { TargetService } from './target-service.js';

/** Sends `resourceSpans` of OTLP/JSON without changing their text. */
export class SpansBatch extends ImportBatch {
  constructor(service: TargetService, tally: ImportTally) {
    super(async (items) => {
      const body = `{"resourceSpans":[${items.map(({ text }) => text).join(',')}]}`;
      const { partialSuccess } = (await service.post('/otel/v1/traces', body)) as {
        partialSuccess?: { rejectedSpans?: string; errorMessage?: string };
      };
      const { rejectedSpans, errorMessage: why } = partialSuccess ?? {};
      return why === undefined ? undefined : { why, count: Number(rejectedSpans) };
    }, tally);
  }
}

/** Imports files of a collector's file exporter. Each record is a request of spans, `{"resourceSpans":[…]}`. */
export class OtlpImport implements Importer {
  private readonly spans: SpansBatch;

  constructor(
    service: TargetService,
    private readonly tally: ImportTally,
  ) {
    this.spans = new SpansBatch(service, tally);
  }

  async add({ text, line }: FileRecord): Promise<void> {
    const groups = memberTexts(text).get('resourceSpans');
    if (groups === undefined)
      throw new InvalidRecord('is not an export request of spans: resourceSpans is missing');
    if (!groups.startsWith('[')) throw new InvalidRecord('resourceSpans must be a list');
    for (const group of elementTexts(groups)) {
      this.tally.count('spans', spansIn(group));
      await this.spans.add({ line, what: 'a span of this line', text: group });
    }
  }

  flush(): Promise<void> {
    return this.spans.flush();
  }
}

/** Returns the number of spans of a resource. Returns 0 for an invalid resource, which the service refuses later. */
function spansIn(text: string): number {
  const { scopeSpans } = JSON.parse(text) as { scopeSpans?: { spans?: unknown[] }[] };
  return Array.isArray(scopeSpans)
    ? scopeSpans.reduce((sum, scope) => sum + (scope?.spans?.length ?? 0), 0)
    : 0;
}
