import { isDateTime } from '../common/dto.js';
import type { Violation } from '../common/errors.js';
import { isObject } from '../common/is-object.js';

/*
 * What is checked of trajectory groups: the types of the fields that are understood, nothing else. Absent fields have
 * their defaults, and fields of other names pass. A null where a number belongs is what JSON makes of NaN.
 */

/** A trajectory without the logprobs of its choices, as it was sent. */
export interface Trajectory {
  messages_and_choices?: object[];
  exchanges?: { chat_completions?: object[] };
  reward?: number | null;
  tools?: unknown[] | null;
  additional_histories?: { messages_and_choices?: object[] }[];
  metrics?: Numbers;
  metadata?: Record<string, unknown>;
  logs?: string[];
  start_time?: string | null;
}

/** What a group holds beside its trajectories. */
export interface Group {
  exceptions?: unknown[];
  metrics?: Numbers;
  metadata?: Record<string, unknown>;
  logs?: string[];
}

export type Numbers = Record<string, number | boolean | null>;

/** Undefined when the value is right, else what is wrong and where. */
type Check = (value: unknown, path: string) => Violation | undefined;

export function trajectoryViolation(value: unknown, path: string): Violation | undefined {
  return TRAJECTORY(value, path);
}

export function groupViolation(value: unknown, path: string): Violation | undefined {
  return GROUP(value, path);
}

export function configViolation(value: unknown): Violation | undefined {
  return CONFIG(value, 'experimental_config');
}

const is =
  (message: string, test: (value: unknown) => boolean): Check =>
  (value, path) =>
    test(value) ? undefined : { path, message };

const isScalar = (value: unknown) => typeof value !== 'object' || value === null;

const TEXT = is('must be a string', (value) => typeof value === 'string');
const TEXT_OR_NULL = is('must be a string or null', (v) => v === null || typeof v === 'string');
const NUMBER_OR_NULL = is('must be a number', (v) => v === null || typeof v === 'number');
const BOOLEAN_OR_NULL = is('must be a boolean', (v) => v === null || typeof v === 'boolean');
const METRIC = is('must be a number or a boolean', (v) => isScalar(v) && typeof v !== 'string');
const SCALAR = is('must be a string, number, boolean or null', isScalar);
const ANY_LIST = is('must be an array', Array.isArray);
const ANY_LIST_OR_NULL = is('must be an array or null', (v) => v === null || Array.isArray(v));
const START_TIME = is(
  'must be an ISO 8601 date-time such as 2026-01-31T12:00:00.123456Z',
  (value) => value === null || isDateTime(value),
);
const CONTENT = is(
  'must be a string, null or an array of parts',
  (value) => value === null || typeof value === 'string' || Array.isArray(value),
);

/** Fields that are there are checked, in the order given. */
const object =
  (checks: Record<string, Check>, required: string[] = []): Check =>
  (value, path) => {
    if (!isObject(value)) return { path, message: 'must be an object' };
    for (const name of required)
      if (!Object.hasOwn(value, name)) return { path: `${path}.${name}`, message: 'is required' };
    for (const [name, check] of Object.entries(checks)) {
      const violation = Object.hasOwn(value, name) && check(value[name], `${path}.${name}`);
      if (violation) return violation;
    }
    return undefined;
  };

const list =
  (check: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) return { path, message: 'must be an array' };
    for (const [i, item] of value.entries()) {
      const violation = check(item, `${path}[${i}]`);
      if (violation) return violation;
    }
    return undefined;
  };

const map =
  (check: Check): Check =>
  (value, path) => {
    if (!isObject(value)) return { path, message: 'must be an object' };
    for (const [name, item] of Object.entries(value)) {
      const violation = check(item, `${path}.${name}`);
      if (violation) return violation;
    }
    return undefined;
  };

const MESSAGE = object(
  {
    role: TEXT,
    content: CONTENT,
    name: TEXT_OR_NULL,
    tool_calls: ANY_LIST_OR_NULL,
    tool_call_id: TEXT_OR_NULL,
  },
  ['role'],
);
const CHOICE = object({ finish_reason: TEXT_OR_NULL, index: NUMBER_OR_NULL, message: MESSAGE });

/** A choice is told from a message by its key `message`. */
const TURNS = list((value, path) =>
  isObject(value) && Object.hasOwn(value, 'message') ? CHOICE(value, path) : MESSAGE(value, path),
);

const HISTORY = object({ messages_and_choices: TURNS, tools: ANY_LIST_OR_NULL });

/** A request to a model, and its response with the choices: other protocols than this one are kept unread. */
const CHAT = object({
  request: object({ messages: list(MESSAGE), tools: ANY_LIST_OR_NULL }),
  response: object({ choices: list(CHOICE) }),
});

const TRAJECTORY = object({
  messages_and_choices: TURNS,
  exchanges: object({ chat_completions: list(CHAT) }),
  reward: NUMBER_OR_NULL,
  tools: ANY_LIST_OR_NULL,
  additional_histories: list(HISTORY),
  metrics: map(METRIC),
  metadata: map(SCALAR),
  logs: list(TEXT),
  start_time: START_TIME,
});

/** The trajectories of a group are read one by one: here stands an empty list for them. */
const GROUP = object({
  trajectories: ANY_LIST,
  exceptions: ANY_LIST,
  metrics: map(METRIC),
  metadata: map(SCALAR),
  logs: list(TEXT),
});

const CONFIG: Check = (value, path) => (value === null ? undefined : CONFIG_FIELDS(value, path));
const CONFIG_FIELDS = object({
  learning_rate: NUMBER_OR_NULL,
  precalculate_logprobs: BOOLEAN_OR_NULL,
});
