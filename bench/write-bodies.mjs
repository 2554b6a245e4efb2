// Writes calls as each client formats them, with equal contents. Bodies are made once and get new ids for each
// request, so that the client of a bench costs little.
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

export const MESSAGES = Array.from({ length: 5 }, (_, i) => ({
  role: 'user',
  content: `text ${i} `.repeat(40),
}));
const ANSWER = [{ role: 'assistant', content: 'an answer '.repeat(20), finish_reason: 'stop' }];
const MODEL = 'gpt-4o-mini-2024-07-18';
const [ASKED, ANSWERED] = [120, 40];
/**
 * An hour ahead, so that the refresher leaves these calls alone. It leaves live calls alone too until their five
 * minutes are over.
 */
const STARTED_MS = Date.now() + 3_600_000;
const ENDED_MS = STARTED_MS + 1000;
export const STARTED_AT = new Date(STARTED_MS).toISOString();

const ID_DIGITS = 16;
let ids = 0;
const nextId = () => (++ids).toString(16).padStart(ID_DIGITS, '0');
/** Placeholder for the id of a call. The id of its trace is the same text twice. */
const PLACE = 'f0f0f0f0f0f0f0f0';

/** A call as a start and an end. */
const startAndEnd = (project) => {
  const its = { project_id: project, id: PLACE };
  const start = {
    ...its,
    trace_id: PLACE + PLACE,
    op_name: 'chat gpt-4o-mini',
    started_at: STARTED_AT,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai' },
    inputs: { messages: MESSAGES },
  };
  const usage = { requests: 1, prompt_tokens: ASKED, completion_tokens: ANSWERED };
  const end = {
    ...its,
    ended_at: new Date(ENDED_MS).toISOString(),
    output: { messages: ANSWER },
    summary: { usage: { [MODEL]: usage } },
  };
  return [
    { mode: 'start', req: { start } },
    { mode: 'end', req: { end } },
  ];
};

/** A start with hardly more than inputs. */
const aStart = (project) => {
  const its = { project_id: project, id: PLACE, trace_id: PLACE };
  const start = { ...its, op_name: 'run', started_at: STARTED_AT, inputs: { messages: MESSAGES } };
  return { mode: 'start', req: { start } };
};

const textOf = (key, value) => ({ key, value: { stringValue: value } });
const numberOf = (key, value) => ({ key, value: { intValue: `${value}` } });
const nanos = (ms) => `${ms}000000`;
/** A span of the same call, by the OpenTelemetry conventions for generative AI. */
const span = () => ({
  traceId: PLACE + PLACE,
  spanId: PLACE,
  name: 'chat gpt-4o-mini',
  kind: 3,
  startTimeUnixNano: nanos(STARTED_MS),
  endTimeUnixNano: nanos(ENDED_MS),
  attributes: [
    textOf('gen_ai.operation.name', 'chat'),
    textOf('gen_ai.provider.name', 'openai'),
    textOf('gen_ai.request.model', 'gpt-4o-mini'),
    textOf('gen_ai.response.model', MODEL),
    numberOf('gen_ai.usage.input_tokens', ASKED),
    numberOf('gen_ai.usage.output_tokens', ANSWERED),
    textOf('gen_ai.input.messages', JSON.stringify(MESSAGES)),
    textOf('gen_ai.output.messages', JSON.stringify(ANSWER)),
  ],
  status: {},
});
const request = (spans) => ({
  resourceSpans: [
    {
      resource: {
        attributes: [
          textOf('service.name', 'bench'),
          textOf('telemetry.sdk.language', 'nodejs'),
          textOf('telemetry.sdk.name', 'opentelemetry'),
          textOf('telemetry.sdk.version', '2.12.1'),
        ],
      },
      scopeSpans: [{ scope: { name: 'bench', version: '1.0.0' }, spans }],
    },
  ],
});

function protobufOf(json) {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, file) =>
    fileURLToPath(new URL(`../src/doors/otel/proto/${file}`, import.meta.url));
  root.loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto');
  const type = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');
  const inBase64 = (id) => Buffer.from(id, 'hex').toString('base64');
  const asMessage = (aSpan) => ({
    ...aSpan,
    traceId: inBase64(aSpan.traceId),
    spanId: inBase64(aSpan.spanId),
  });
  const [{ resource, scopeSpans }] = json.resourceSpans;
  const spans = scopeSpans[0].spans.map(asMessage);
  const message = { resourceSpans: [{ resource, scopeSpans: [{ ...scopeSpans[0], spans }] }] };
  return Buffer.from(type.encode(type.fromObject(message)).finish());
}

/** Returns a function that makes bodies. It writes the next id into each `span` consecutive placeholders. */
function maker(form, encoding, places) {
  const place = Buffer.from(PLACE, encoding);
  const at = [];
  for (let i = form.indexOf(place); i >= 0; i = form.indexOf(place, i + place.length)) at.push(i);
  return () => {
    const body = Buffer.from(form);
    let id;
    for (const [i, position] of at.entries()) {
      if (i % places === 0) id = Buffer.from(nextId(), encoding);
      id.copy(body, position);
    }
    return body;
  };
}

/** Functions that make bodies of `count` calls, keyed by format. */
export function callBodies(project, count) {
  const many = (one) => Array.from({ length: count }, one);
  const json = request(many(span));
  const batch = { batch: many(() => startAndEnd(project)).flat() };
  const batchForm = Buffer.from(JSON.stringify(batch));
  const starts = { batch: many(() => aStart(project)) };
  return {
    starts: maker(Buffer.from(JSON.stringify(starts)), 'latin1', 2),
    batch: maker(batchForm, 'latin1', 4),
    protobuf: maker(protobufOf(json), 'hex', 3),
    json: maker(Buffer.from(JSON.stringify(json)), 'latin1', 3),
  };
}
