import { type Build, type Operation, writes } from '../support/operation-rows.js';

let spansMade = 0;

const aSpan = () => ({
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: (++spansMade).toString(16).padStart(16, '0'),
  name: 'work',
  startTimeUnixNano: '1767225600123456789',
});

export const spansOf = (attributes: Record<string, string>, ...spans: object[]) => ({
  resource: {
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    })),
  },
  scopeSpans: [{ spans: spans.length > 0 ? spans : [aSpan()] }],
});

/** A log record with a message of a span that is not stored. */
const aLogRecord = (content: string) => ({
  ...aSpan(),
  eventName: 'gen_ai.user.message',
  body: { kvlistValue: { values: [{ key: 'content', value: { stringValue: content } }] } },
});

const logs: Build = ({ project, marker }) => ({
  headers: { project_id: project },
  body: { resourceLogs: [{ scopeLogs: [{ logRecords: [aLogRecord(marker)] }] }] },
});

const spans: Build = ({ project }) => ({
  headers: { project_id: project },
  body: { resourceSpans: [spansOf({})] },
});

export const otelOperations: Record<string, Operation> = {
  ...Object.fromEntries(
    ['/otel/v1/traces', '/v1/traces', '/agents/otel/v1/traces', '/api/public/otel/v1/traces'].map(
      (path) => [
        `POST ${path}`,
        writes(spans, {
          schemes: ['basic', 'bearer'],
          changes: ['calls'],
          harmless: 'is an upsert by the ids of the spans',
        }),
      ],
    ),
  ),
  ...Object.fromEntries(
    ['/otel/v1/logs', '/v1/logs'].map((path) => [
      `POST ${path}`,
      writes(logs, {
        schemes: ['basic', 'bearer'],
        changes: ['calls'],
        harmless: 'is a union of log records',
      }),
    ]),
  ),
  ...Object.fromEntries(
    ['/otel/v1/metrics', '/v1/metrics'].map((path) => [
      `POST ${path}`,
      writes(() => ({ body: {} }), {
        schemes: ['basic', 'bearer'],
        elsewhere: 200,
        harmless: 'stores nothing',
      }),
    ]),
  ),
};
