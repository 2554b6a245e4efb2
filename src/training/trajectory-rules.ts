import type { OpenAPIObject } from '@nestjs/swagger';
import { Ajv } from 'ajv';
import { isDateTime } from '../platform/http/dto.js';
import type { Violation } from '../platform/errors.js';

/*
 * The rules for bodies with trajectory groups, as JSON Schemas in the dialect of OpenAPI. They are used for checks
 * and published. They define the types of the fields that the service knows. Fields with other names are accepted.
 */

/** The text after "must be" in an error message. A symbol as key keeps it out of the OpenAPI document. */
const MUST_BE = Symbol('must be');

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Schemas[string] & { [MUST_BE]?: string };

export const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const mustBe = (what: string, schema: Schema): Schema => ({ ...schema, [MUST_BE]: what });
const object = (properties: Record<string, Schema>, ...required: string[]) =>
  mustBe('an object', {
    type: 'object',
    description: 'Members of other names are kept as they are.',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: true,
  });
const objectRule = (items: Schema) =>
  mustBe('an object', { type: 'object', additionalProperties: items });
const arrayRule = (items: Schema) => mustBe('an array', { type: 'array', items });

const TEXT = mustBe('a string', { type: 'string' });
const TEXT_OR_NULL = mustBe('a string or null', { type: 'string', nullable: true });
/** Accepts null, which JSON.stringify prints for NaN. */
const NUMBER = mustBe('a number', { type: 'number', nullable: true });
const BOOLEAN = mustBe('a boolean', { type: 'boolean', nullable: true });
const METRIC = mustBe('a number or a boolean', { anyOf: [NUMBER, BOOLEAN] });
const SCALAR = mustBe('a string, number, boolean or null', { anyOf: [TEXT, NUMBER, BOOLEAN] });
const LIST = arrayRule({ description: 'Any JSON value.' });
const LIST_OR_NULL = mustBe('an array or null', { ...LIST, nullable: true });
const CONTENT = mustBe('a string, null or an array of parts', { anyOf: [TEXT_OR_NULL, LIST] });

/** A choice differs from a message by its key `message`. */
const HAS_MESSAGE = { required: ['message'] };
const TURNS = {
  ...arrayRule({
    anyOf: [
      { allOf: [HAS_MESSAGE, refTo('ChoiceDto')] },
      { allOf: [{ not: HAS_MESSAGE }, refTo('ChatMessageDto')] },
    ],
  }),
  description: 'Chat messages, and whole choices (with the key `message`), in any order.',
};

/** Rules for chat completions. Exchanges of other protocols are stored unread. */
const CHAT = object({
  request: object({ messages: arrayRule(refTo('ChatMessageDto')), tools: LIST_OR_NULL }),
  response: object({ choices: arrayRule(refTo('ChoiceDto')) }),
});

const TRAJECTORY: Record<string, Schema> = {
  messages_and_choices: { ...TURNS, default: [] },
  exchanges: {
    ...object({ chat_completions: arrayRule(CHAT) }),
    description:
      'Instead of the former: `chat_completions`, each with its `request` and the `response` whose `choices` are the trainable turns.',
  },
  reward: { ...NUMBER, default: 0 },
  tools: { ...LIST_OR_NULL, default: null },
  additional_histories: {
    ...arrayRule(object({ messages_and_choices: TURNS, tools: LIST_OR_NULL })),
    default: [],
  },
  metrics: { ...objectRule(METRIC), default: {} },
  metadata: { ...objectRule(SCALAR), default: {} },
  logs: { ...arrayRule(TEXT), default: [] },
  start_time: mustBe('an ISO 8601 date-time such as 2026-01-31T12:00:00.123456Z', {
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'When absent: the time of receipt.',
  }),
};

/** Fields that the service adds to a trajectory in an answer. */
const STORED_FIELDS: Record<string, Schema> = {
  id: { type: 'string', format: 'uuid' },
  model_id: { type: 'string', format: 'uuid' },
  job_id: { type: 'string', format: 'uuid', nullable: true },
  split: { type: 'string', nullable: true },
  step: { type: 'integer' },
  group_index: { type: 'integer' },
  trajectory_index: { type: 'integer' },
  num_tokens: { type: 'integer' },
  created_at: { type: 'string', format: 'date-time' },
};

/** Values that are stored for absent fields of a trajectory, except `start_time`. */
export const DEFAULTS = Object.entries(TRAJECTORY).flatMap(([name, schema]) =>
  'default' in schema ? [[name, schema.default] as const] : [],
);

export const SPLIT = /^[\w.-]{1,64}$/;

/** Schemas, keyed by their names in the OpenAPI document. */
export const TRAJECTORY_SCHEMAS = {
  ChatMessageDto: object(
    {
      role: TEXT,
      content: CONTENT,
      name: TEXT_OR_NULL,
      tool_calls: LIST_OR_NULL,
      tool_call_id: TEXT_OR_NULL,
    },
    'role',
  ),
  ChoiceDto: object({
    finish_reason: TEXT_OR_NULL,
    index: NUMBER,
    message: refTo('ChatMessageDto'),
  }),
  TrajectoryDto: object(TRAJECTORY),
  TrajectoryGroupDto: object({
    trajectories: arrayRule(refTo('TrajectoryDto')),
    exceptions: LIST,
    metrics: objectRule(METRIC),
    metadata: objectRule(SCALAR),
    logs: arrayRule(TEXT),
  }),
  /** A row of the data of an `sft` job. */
  SftRowDto: object(
    { messages: arrayRule(refTo('ChatMessageDto')), tools: LIST_OR_NULL },
    'messages',
  ),
  ExperimentalConfigDto: {
    ...object({ learning_rate: NUMBER, precalculate_logprobs: BOOLEAN }),
    nullable: true,
  },
  StoredTrajectoryDto: object({ ...TRAJECTORY, ...STORED_FIELDS }, ...Object.keys(STORED_FIELDS)),
  LogDto: object(
    {
      split: { type: 'string', pattern: SPLIT.source },
      trajectory_groups: arrayRule(refTo('TrajectoryGroupDto')),
    },
    'split',
    'trajectory_groups',
  ),
  TrainingJobCreateDto: object(
    {
      model_id: { type: 'string', format: 'uuid' },
      trajectory_groups: arrayRule(refTo('TrajectoryGroupDto')),
      experimental_config: refTo('ExperimentalConfigDto'),
    },
    'model_id',
    'trajectory_groups',
  ),
};

/** The fields of a valid trajectory that the service reads. */
export interface CheckedTrajectory {
  reward?: number | null;
  metrics?: MetricValues;
  start_time?: string | null;
}

/** The fields of a valid group that the service reads. */
export interface CheckedGroup {
  exceptions?: unknown[];
  metrics?: MetricValues;
}

export type MetricValues = Record<string, number | boolean | null>;

const ajv = new Ajv({
  strict: false,
  strictNumbers: false, // JSON.parse reads 1e999 as Infinity, which is accepted
  validateSchema: false,
  verbose: true,
  formats: { 'date-time': isDateTime },
}).addSchema({ components: { schemas: TRAJECTORY_SCHEMAS } }, '');

/** Returns a violation of a schema by a value, or undefined for a valid value. `place` is the path of the value. */
export function findViolation(
  name: keyof typeof TRAJECTORY_SCHEMAS,
  value: unknown,
  place: string,
): Violation | undefined {
  const isValid = ajv.getSchema(refTo(name).$ref)!;
  if (isValid(value)) return undefined;
  const error = isValid.errors!.findLast(({ parentSchema }) => MUST_BE in parentSchema!)!;
  isValid.errors = null; // the errors keep a reference to the value
  let path = place;
  let at: unknown = value;
  for (const step of error.instancePath.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    path += Array.isArray(at) ? `[${key}]` : `.${key}`;
    at = (at as Record<string, unknown>)[key];
  }
  return error.keyword === 'required'
    ? { path: `${path}.${error.params['missingProperty']}`, message: 'is required' }
    : { path, message: `must be ${(error.parentSchema as Schema)[MUST_BE]}` };
}
