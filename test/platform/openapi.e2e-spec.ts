import { MAX_LEAVES } from '../../src/tracing/evaluations/evaluation-summaries.js';
import { MAX_COMPARED } from '../../src/tracing/evaluations/eval-compare.service.js';
import { MAX_EVALUATIONS, MAX_OTHERS } from '../../src/tracing/evaluations/eval-results.dto.js';
import { MAX_AGENT_ROWS } from '../../src/doors/weave/agents/agents.dto.js';
import { MAX_SUM_LENGTH, MAX_SUM_ROWS } from '../../src/tracing/bounded-rows.js';
import {
  MAX_SPANS,
  MAX_TURN_BYTES,
  MAX_TURN_CALLS,
} from '../../src/doors/weave/agents/chat.service.js';
import { MAX_COSTED } from '../../src/doors/weave/agents/group-extras.js';
import { MAX_SEARCHED } from '../../src/doors/weave/agents/search.query.js';
import { MAX_ROW_BYTES, MAX_TRIALS } from '../../src/tracing/evaluations/eval-results.service.js';
import { KEYS_PAGE } from '../../src/platform/auth/keys/keys.dto.js';
import { MAX_METRICS, MAX_METRICS_BYTES } from '../../src/training/metrics-limit.js';
import { readFileSync } from 'node:fs';
import { maxHeaderSize } from 'node:http';
import { getMetadataStorage } from 'class-validator';
import '../../src/app.module.js';
import { MAX_USAGE_CALLS } from '../../src/tracing/calls/usage/call-usage.dto.js';
import { MAX_USAGE_BYTES } from '../../src/tracing/calls/usage/call-usage.query.js';
import { MAX_ENTRIES } from '../../src/tracing/calls/usage/call-usage.service.js';
import { LEAST_TOKENS, MAX_CHOSEN, MAX_TOKENS, USUAL_TOKENS } from '../../src/doors/mcp/mcp.dto.js';
import { MAX_MESSAGE_BYTES } from '../../src/doors/mcp/mcp.controller.js';
import { MAX_COMPARED_BYTES } from '../../src/doors/mcp/calls.tools.js';
import { MAX_CALLS } from '../../src/doors/mcp/traces.tools.js';
import { BYTES_PER_TOKEN, DEADLINE_MS } from '../../src/doors/mcp/tool-answer.js';
import { MAX_PAGE } from '../../src/doors/mcp/tool.js';
import { MAX_MODEL } from '../../src/doors/gateway/gateway.dto.js';
import { MAX_ATTRIBUTES_BYTES } from '../../src/doors/gateway/call-context.js';
import {
  MAX_WAITING,
  WAIT_MS as ROOM_MS,
} from '../../src/doors/gateway/admission/concurrency.service.js';
import { UNREAD_SECONDS } from '../../src/platform/http/context.js';
import { MAX_EVENTS } from '../../src/doors/langfuse/langfuse.dto.js';
import { MAX_SCORES } from '../../src/doors/langfuse/langfuse.service.js';
import { MAX_TAGS } from '../../src/tracing/objects/labels/labels.dto.js';
import { MAX_BATCH } from '../../src/tracing/calls/calls.dto.js';
import { LARGE_AT_ONCE, SMALL_BYTES } from '../../src/tracing/calls/calls.service.js';
import { MAX_EXCEPTION } from '../../src/tracing/calls/ingest/text-repair.js';
import { MAX_THREAD_BYTES } from '../../src/platform/http/dto.js';
import {
  MAX_INDEXES,
  MAX_OF_PROJECT,
} from '../../src/tracing/calls/indexes/call-indexes.service.js';
import { ATTEMPTS } from '../../src/platform/auth/limits/failed-attempts.js';
import {
  HELD_RATE,
  LEAST_PIECE_BYTES,
  MAX_PIECES,
  STREAMED_RATE,
} from '../../src/platform/http/inflated-body.js';
import { MAX_DEPTH as MAX_JSON_DEPTH } from '../../src/platform/json/json-grammar.js';
import { ANSWERS, DOCUMENT, untyped } from '../support/answers.js';
import type { Dto } from '../../src/platform/http/validation.js';
import { loadConfig } from '../../src/platform/config/config.js';
import {
  BEAT_MS,
  MAX_STREAMS,
  MAX_STREAMS_OF_KEY,
} from '../../src/platform/events/events.service.js';
import { MAX_CALLS as MAX_GATE_CALLS } from '../../src/training/promotion/gates.query.js';
import { STATEMENT_MS } from '../../src/platform/database/limits.js';
import { STALLED_AFTER_MS } from '../../src/platform/database/row-stream.js';
import { SLOW_AFTER_MS, WAIT_MS } from '../../src/platform/database/connection-slots.js';
import { MAX_PAYLOAD_BYTES } from '../../src/tracing/feedback/feedback.service.js';
import { MAX_PART_BYTES } from '../../src/training/checkpoints/checkpoint-files.service.js';
import { MAX_CONFIG_BYTES } from '../../src/training/jobs/queue.service.js';
import { MAX_TEXT } from '../../src/training/jobs/trainer.dto.js';
import { MAX_FILE_NAME, MAX_FILES, MAX_PARTS } from '../../src/training/manifest.dto.js';
import { MAX_FILE_BYTES } from '../../src/tracing/objects/files/files.service.js';
import { MAX_ROWS } from '../../src/tracing/objects/tables/tables.dto.js';
import { MAX_NAME, MAX_NAME_BYTES, MAX_STEPS } from '../../src/platform/query/columns.js';
import { MAX_POSITION_BYTES } from '../../src/platform/query/keyset.js';
import {
  MAX_DEPTH,
  MAX_LITERAL,
  MAX_LITERALS,
  MAX_NODES,
  MAX_SUBSTR,
} from '../../src/platform/query/expression.js';

const operations: [string, any][] = Object.entries<any>(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries<any>(methods).map(([method, operation]): [string, any] => [
    `${method.toUpperCase()} ${path}`,
    operation,
  ]),
);

const namesOf = (parameters: { name: string }[]) =>
  Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter]));

/**
 * Classes without a schema of their own: they are written out where they are used. A recipe is the value of an object.
 */
const UNNAMED = /^(SortDto|Recipe\w+)$/;

/** Every class with validation rules, with its fields and the inherited ones. */
function dtos(): [name: string, fields: string[]][] {
  const storage = getMetadataStorage();
  const { validationMetadatas } = storage as unknown as { validationMetadatas: Map<Dto, unknown> };
  const all = [...validationMetadatas.keys()];
  const isBase = (dto: Dto) => all.some(({ prototype }) => prototype instanceof dto);
  return all
    .filter((dto) => !isBase(dto) && !UNNAMED.test(dto.name))
    .map((dto) => [
      dto.name,
      storage
        .getTargetValidationMetadatas(dto, '', true, false)
        .map(({ propertyName }) => propertyName),
    ]);
}

describe('openapi.json', () => {
  it.each(operations)('%s says what it is, who may call it and how it fails', (name, operation) => {
    expect(operation.summary ?? 'no comment above the handler:').toMatch(/[\w`>]\.?$/);
    expect(operation.tags).toHaveLength(1);
    const isPublic = [
      'GET /health',
      'GET /ready',
      'GET /server_info',
      'GET /api/public/health',
      'GET /api/public/media/{id}/content', // these use signed URLs
      'PUT /api/public/media/{id}/content',
    ].includes(name);
    expect(Boolean(operation.security)).toBe(!isPublic);
    const statuses = Object.keys(operation.responses).filter((status) => /^20[0-7]$/.test(status));
    expect(statuses).not.toEqual([]);
    expect(operation.responses.default.content).toHaveProperty('application/problem+json');
  });

  it('gives every operation an id of its own', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(dtos())('has every field of %s', (name, fields) => {
    const { properties } = DOCUMENT.components.schemas[name] ?? {
      properties: operations
        .map(([, { parameters = [] }]) => namesOf(parameters))
        .find((names) => fields.every((field) => field in names)),
    };
    if (!properties) throw new Error('openapi.json does not have it: run `npm run generate`');
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(fields));
  });

  it.each(ANSWERS)('says the type of all that $name has', ({ schema }) => {
    expect(schema).toBeDefined();
    expect(untyped(schema!, '')).toEqual([]);
  });

  it('has no dangling reference', () => {
    const refs = [...JSON.stringify(DOCUMENT).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name!,
    );
    for (const name of refs) expect(DOCUMENT.components.schemas).toHaveProperty(name);
  });
});

it('docs/limits.md gives the numbers of the code', () => {
  const numbersIn = (text: string) =>
    [...text.matchAll(/\d[\d,]*/g)].map(([number]) => Number(number.replaceAll(',', '')));
  const page = readFileSync('docs/limits.md', 'utf8');
  const listed = Object.fromEntries(
    [...page.matchAll(/^\| (.+?) +\| (.+?) +\|/gm)].map(([, what, limit]) => [
      what!.replace(/\d[\d,]*/g, 'N'),
      numbersIn(what!).concat(numbersIn(limit!)),
    ]),
  );
  const config = loadConfig({});
  const { bodyTimeoutSeconds: silence } = config;
  expect(listed).toMatchObject({
    'address and headers': [maxHeaderSize],
    'inflated bytes': [config.maxBodyBytes],
    'inflated bytes with trajectory groups': [config.maxTrainingBodyBytes, expect.anything()],
    'levels of free-form JSON, and of training bodies': [MAX_JSON_DEPTH],
    'items of `/call/upsert_batch`': [MAX_BATCH],
    'items of `/vN/…/calls/complete`': [2, MAX_BATCH],
    '`thread_id` and `turn_id`': [MAX_THREAD_BYTES],
    '`exception`': [MAX_EXCEPTION],
    'rows of a table': [MAX_ROWS],
    'trials of `/vN/…/eval_results/query` and `…/compare`': [2, MAX_TRIALS],
    'rows of a page of `/agents/…/query`; turns of `/agents/conversations/chat`; messages of `/agents/search`':
      [MAX_AGENT_ROWS, 50, 1000],
    'sums of `/agents/spans/query` and `…/stats`, one for each group and bucket; characters of them':
      [MAX_SUM_ROWS, MAX_SUM_LENGTH],
    'spans whose costs one answer of `/agents/…` adds up': [MAX_COSTED],
    'calls of the traces of a chat; bytes of their documents': [MAX_TURN_CALLS, MAX_TURN_BYTES],
    'spans of `/agents/conversations/spans`': [MAX_SPANS],
    'spans that `/agents/search` looks at, the newest first; bytes of one that is searched': [
      MAX_SEARCHED,
      4_194_304,
    ],
    'evaluations of `…/eval_results/query`; others of `…/compare`': [MAX_EVALUATIONS, MAX_OTHERS],
    'different values of scores of an evaluation; of a comparison': [MAX_LEAVES, MAX_COMPARED],
    'characters of the trials of a row': [MAX_ROW_BYTES],
    'payload of feedback': [MAX_PAYLOAD_BYTES],
    'tags of a version; aliases of an object': [MAX_TAGS],
    'events of `/api/public/ingestion`; scores in a list': [MAX_EVENTS, MAX_SCORES],
    'a message': [MAX_MESSAGE_BYTES],
    'tokens of an answer, at N bytes each': [
      BYTES_PER_TOKEN,
      USUAL_TOKENS,
      LEAST_TOKENS,
      MAX_TOKENS,
    ],
    'rows of a page of a tool': [MAX_PAGE],
    'calls of a page of `read_trace`; of its payloads': [MAX_CALLS, MAX_CHOSEN],
    'bytes of each of two calls that `compare_calls` compares': [MAX_COMPARED_BYTES],
    'time of a tool': [DEADLINE_MS / 1000],
    'calls of `/calls/usage` and `/trace/usage`; call and model pairs': [
      MAX_USAGE_CALLS,
      MAX_ENTRIES,
    ],
    'usage of one of their calls': [MAX_USAGE_BYTES],
    'time without data, and delay behind N bytes a second': [HELD_RATE, silence],
    'memory of all bodies of a process': [config.bodyBudgetBytes, expect.anything()],
    'chunks, unless they have N bytes on average': [LEAST_PIECE_BYTES, MAX_PIECES],
    'reads of one call that may have over N bytes': [SMALL_BYTES, LARGE_AT_ONCE],
    'nodes of `query`, every item of `$in` is one': [MAX_NODES],
    'requests at providers at once, of a process': [config.gatewayConcurrency, ROOM_MS / 1000],
    'requests of a key that wait; of an entity': [MAX_WAITING],
    'a client that reads nothing of an answer': [UNREAD_SECONDS],
    'name of a model': [MAX_MODEL],
    '`X-Skein-Attributes`': [MAX_ATTRIBUTES_BYTES],
    'a part of a file, in bytes': [MAX_PART_BYTES],
    'parts of all files of a job': [MAX_PARTS],
    'files of a manifest': [MAX_FILES],
    'name of a file': [MAX_FILE_NAME],
    'its `config`': [MAX_CONFIG_BYTES],
    'text of a note, reason of a job without a step': [MAX_TEXT],
    'levels of `query`': [MAX_DEPTH],
    'name of a field': [MAX_NAME, MAX_STEPS],
    'all names in one `query`, `sort_by` or `fields`': [MAX_NAME_BYTES],
    'a text literal; all literals of a query': [MAX_LITERAL, MAX_LITERALS],
    'all texts in `after`': [MAX_POSITION_BYTES],
    'text that `$contains` searches for': [MAX_SUBSTR],
    'indexes on fields of a project, of all': [MAX_OF_PROJECT, MAX_INDEXES],
    'a count, a list or a batch of a stream': [config.readTimeoutSeconds],
    'a write or a short read': [STATEMENT_MS.write / 1000],
    'a stream whose reader takes nothing': [STALLED_AFTER_MS / 1000, SLOW_AFTER_MS / 1000],
    'a whole stream': [STATEMENT_MS.stream / 1000],
    'streams, counts, purges and uploads under way in a process': expect.arrayContaining([
      WAIT_MS / 1000,
    ]),
    'streams of events of a process, of a key in it': [MAX_STREAMS, MAX_STREAMS_OF_KEY],
    'keys of an entity, those that have ended included': [config.maxKeysPerEntity],
    'keys in an answer of `/keys/list`': [KEYS_PAGE],
    'calls of a step that a gate reads': [MAX_GATE_CALLS],
    'names of metrics': [MAX_METRICS],
    'its metrics': [MAX_METRICS_BYTES],
    'a stream of events that has not taken the last heartbeat': [BEAT_MS / 1000],
    'a file': [MAX_FILE_BYTES],
    'the same for a file, a part or a training body, at N bytes a second': [STREAMED_RATE, silence],
    'failed authentications of an address, a minute': [ATTEMPTS],
  });
});
