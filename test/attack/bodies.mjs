// Makes requests from the OpenAPI document. The number of a request decides all of it. The body is small and valid, but
// one or two parts are pushed to a limit (many, deep, long, wide, repeated, odd). It may be compressed.
import { AT, COMPRESS, field, multipart, times } from './client.mjs';
import { oddRequestOf } from './odd.mjs';

/** Returns a generator of random numbers from 0 to 1. The seed decides the numbers (mulberry32). */
function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Fields that refuse an invented value. */
const RARE = /^(expected_digest|annotation_ref|sha256)$/;

/** JSON text that is put into a body unchanged, so that our own parser and printer need not support it. */
class Raw {
  constructor(text) {
    this.text = text;
  }
}
const MAX_TEXT = 40 * 1024 * 1024;

function print(value) {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(print).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${print(member)}`,
  );
  return `{${members.join()}}`;
}

/** Field names that a query may use, keyed by the first word of the path. */
const FIELDS = {
  calls: [
    'id',
    'started_at',
    'inputs.a',
    'inputs.a.0.b',
    'summary.usage',
    'attributes.x',
    'op_name',
    'thread_id',
    'output',
  ],
  feedback: ['id', 'created_at', 'payload.value', 'payload.a.0.b', 'feedback_type', 'creator'],
  cost: ['id', 'llm_id', 'prompt_token_cost', 'effective_date', 'provider_id'],
  table: ['a', 'a.0.b', 'value', 'text'],
  v1: ['reward', 'start_time', 'created_at', 'step', 'metrics.a', 'metadata.b'],
};
/** Paths that read stored data, so they need a project with data. */
const READS = /^\/(table\/(query|update|create_from)|files?\/content|obj\/read|refs)/;
const OBJECT_SHAPES = {
  messages_and_choices: { role: 'user', content: 'x1' },
  metrics: { a: 1, loss: 0.5 },
  metadata: { a: 'x1', b: 2 },
};
const COMPARISONS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'];
const CHARACTERS = [
  'a',
  'é',
  '👍🏽',
  '9',
  '.',
  '/',
  'a.',
  '\\.',
  '%',
  ' ',
  '-',
  'K',
  '\ud83d',
  '\u0000',
  '"',
  '\\',
  'a:',
  '\ufe0f',
];
const NUMBERS = [
  '1e308',
  '-1e308',
  '1e999',
  '1e-999',
  '-0',
  '0.1',
  '2147483648',
  '9007199254740993',
  '-1',
  '1.5',
];
const ODD = [
  'null',
  'true',
  '0',
  '""',
  '{}',
  '[]',
  '{"__proto__":{}}',
  '[[]]',
  '{"constructor":1,"toString":2}',
  '"__proto__"',
];

class Maker {
  constructor(document, number, random, stored) {
    this.document = document;
    this.number = number;
    this.random = random;
    this.stored = stored;
    this.pushes = [];
  }

  begin({ path }) {
    this.path = path;
    this.project = READS.test(path)
      ? this.stored.project
      : `acme/g${Math.floor(this.number / 500)}`;
    this.fields = FIELDS[path.split('/')[1]] ?? FIELDS.calls;
    if (!this.stored.large) return;
    this.project = this.stored.project;
    this.fields = [...this.fields, ...this.stored.large.fields];
  }

  below = (count) => Math.floor(this.random() * count);
  one = (list) => list[this.below(list.length)];
  isIn = (share) => this.random() < share;
  /** Returns a count: usually up to 1,000, in 1 % of cases up to 10⁵, in 0.05 % up to 2·10⁶. */
  size() {
    const kind = this.random();
    if (this.stored.large) return Math.floor(2 ** (this.random() * 6)); // the stored data is large, the request is small
    const top = kind < 0.0005 ? 21 : kind < 0.01 ? 17 : kind < 0.2 ? 12 : 9;
    return Math.floor(2 ** (this.random() * top));
  }

  schema(schema, name = '', depth = 0) {
    if (schema.$ref)
      return this.schema(
        this.document.components.schemas[schema.$ref.split('/').at(-1)],
        name,
        depth,
      );
    const choices = schema.oneOf ?? schema.anyOf ?? schema.allOf?.slice(-1);
    if (choices) return this.schema(this.one(choices), name, depth);
    if (schema.enum) return this.one(schema.enum);
    if (name === 'query' && schema.type === 'object') return { $expr: this.condition(0) };
    if (OBJECT_SHAPES[name] && schema.type === 'object') return { ...OBJECT_SHAPES[name] };
    if (schema.type === 'array')
      return times(1 + this.below(3), () => this.schema(schema.items ?? {}, name, depth + 1));
    if (schema.additionalProperties?.$ref)
      return {
        x1: this.schema(schema.additionalProperties),
        x2: this.schema(schema.additionalProperties),
      };
    if (schema.type === 'object' && schema.properties) return this.object(schema, depth);
    if (schema.type === 'object') return name === 'batch' ? this.item() : this.anyJson(0);
    if (schema.type === 'number' || schema.type === 'integer')
      return (schema.minimum ?? 0) + this.below(5);
    return schema.type === 'boolean' ? this.isIn(0.5) : this.text(schema, name);
  }

  object({ properties, required = [] }, depth) {
    const names = Object.keys(properties).filter(
      (name) => required.includes(name) || (!RARE.test(name) && this.isIn(0.4)),
    );
    const value = Object.fromEntries(
      names.map((name) => [name, this.schema(properties[name], name, depth + 1)]),
    );
    if (properties.append) return { append: { row: { a: 1 } } };
    if (properties.sort_by && this.isIn(0.8)) value.limit = this.below(200);
    return value;
  }

  text({ format, pattern, example }, name) {
    if (name === 'project_id') return this.project;
    if (name === 'entity') return 'acme';
    const { large } = this.stored;
    if (large && /^((call|trace|turn|thread|parent)_)?ids?$/.test(name)) return this.one(large.ids);
    if (large && (name === 'refs' || name.endsWith('ref'))) return this.one(large.refs);
    if (large && name === 'object_id') return this.one(large.objects);
    if (name === 'project') return this.project.split('/')[1];
    if (format === 'date-time') return AT;
    if (format === 'uuid') return this.stored.model;
    if (name === 'field' || name === 'fields' || name === 'columns') return this.one(this.fields);
    if (name === 'refs' || name.endsWith('ref'))
      return String(example ?? 'svc:///acme/demo/object/x1:latest').replace(
        'acme/demo',
        this.project,
      );
    if (name === 'query') return '{viewer{username}}';
    if (name === 'object_id') return `x${this.below(3)}`;
    if (name.endsWith('digest'))
      return this.stored[this.path.split('/')[1].replace(/s$/, '')] ?? 'latest';
    if (name === 'feedback_type')
      return this.one([
        'note',
        'svc.note.1',
        'svc.reaction.1',
        'svc.annotation.x1',
        'svc.runnable.x1',
      ]);
    if (pattern?.includes('{43}')) return this.stored.row;
    return `x${this.below(50)}`;
  }

  /** A free-form document. */
  anyJson(depth) {
    const leaves = [
      () => `x${this.below(9)}`,
      () => this.below(1000),
      () => null,
      () => 1.5,
      () => '👍',
      () => ({ prompt_tokens: 1, completion_tokens: 2 }),
    ];
    if (depth > 2 || this.isIn(0.3)) return depth === 0 ? { a: 1 } : this.one(leaves)();
    if (depth > 0 && this.isIn(0.3)) return times(this.below(4), () => this.anyJson(depth + 1));
    const names = [
      'a',
      'b',
      'value',
      'usage',
      'emoji',
      'note',
      'output',
      'text',
      'role',
      '_type',
      'prompt_token_cost',
      'completion_token_cost',
    ];
    return Object.fromEntries(
      times(1 + this.below(4), () => [this.one(names), this.anyJson(depth + 1)]),
    );
  }

  /** One item of the batch of an upsert. */
  item() {
    const mode = this.one(['start', 'end']);
    const dto = this.document.components.schemas[mode === 'start' ? 'CallStartDto' : 'CallEndDto'];
    return this.isIn(0.5) ? { mode, req: { [mode]: this.object(dto, 0) } } : this.object(dto, 0);
  }

  condition(depth) {
    const deeper = () => this.condition(depth + 1);
    if (depth < 3 && this.isIn(0.5)) {
      const operator = this.one(['$and', '$or', '$not']);
      return { [operator]: times(operator === '$not' ? 1 : 1 + this.below(3), deeper) };
    }
    const kind = this.below(4);
    if (kind === 0)
      return { $in: [this.operand(depth), times(this.below(5), () => this.operand(depth))] };
    if (kind === 1)
      return {
        $contains: {
          input: this.operand(depth),
          substr: this.operand(depth),
          case_insensitive: this.isIn(0.5),
        },
      };
    return kind === 2
      ? this.operand(depth)
      : { [this.one(COMPARISONS)]: [this.operand(depth), this.operand(depth)] };
  }

  operand(depth) {
    const kind = this.below(5);
    if (kind < 2) return { $literal: this.one(['x1', 1, true, null, AT, 1.5, '']) };
    if (kind < 4 || depth > 4) return { $getField: this.one(this.fields) };
    return {
      $convert: {
        input: this.operand(depth + 1),
        to: this.one(['double', 'string', 'int', 'bool', 'exists']),
      },
    };
  }

  /** Walks down from the root of the body to a random part, and pushes this part to a limit. */
  pushed(value, depth = 0) {
    const isInner = typeof value === 'object' && value !== null && !(value instanceof Raw);
    const names = isInner ? Object.keys(value) : [];
    if (names.length > 0 && !this.isIn(0.08 + 0.06 * depth)) {
      const inner = names.filter((name) => typeof value[name] === 'object');
      const name = this.one(inner.length > 0 && this.isIn(0.7) ? inner : names);
      value[name] = this.pushed(value[name], depth + 1);
      return value;
    }
    const kind = this.one(['many', 'deep', 'long', 'wide', 'repeated', 'number', 'odd']);
    const text = print(value);
    const count = Math.max(1, Math.min(this.size(), Math.floor(MAX_TEXT / (text.length + 12))));
    this.pushes.push(`${kind} ${count}`);
    return new Raw(this.push(kind, value, text, count));
  }

  push(kind, value, text, count) {
    if (kind === 'many') {
      const items = Array.isArray(value) && value.length > 0 ? value.map(print) : [text];
      const isSame = this.isIn(0.5);
      return `[${times(count, (i) => (isSame ? items[i % items.length] : items[i % items.length].replaceAll(/"x\d*"/g, `"y${i}"`))).join()}]`;
    }
    if (kind === 'deep') {
      const [open, close] = this.one([
        ['[', ']'],
        ['{"a":', '}'],
        ['{"$not":[', ']}'],
        ['{"a":[', ']}'],
        ['{"$and":[', ']}'],
      ]);
      return `${open.repeat(count)}${text}${this.isIn(0.9) ? close.repeat(count) : ''}`;
    }
    if (kind === 'long')
      return JSON.stringify(
        `${this.isIn(0.5) ? this.one(this.fields) : ''}${this.one(CHARACTERS).repeat(count)}`,
      );
    if (kind === 'wide')
      return `{${times(count, (i) => `"${this.one(['k', 'x'])}${i}":${text}`).join()}}`;
    if (kind === 'repeated') return `{${`"a":${text},`.repeat(count)}"a":1}`;
    if (kind === 'number')
      return this.isIn(0.5)
        ? this.one(NUMBERS)
        : this.one([
            '9'.repeat(count),
            `0.${'0'.repeat(count)}1`,
            `1e-${count}`,
            `1e${count}`,
            `-${'1'.repeat(count)}.5`,
          ]);
    return this.one(ODD);
  }
}

/**
 * Returns the operations to attack as `{method, path, schema}`. It leaves out the routes of keys, which are for admins,
 * of claims, which only wait, and of the model, which other requests need.
 */
export function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(() => !/^\/keys|trainer\/claims|models\/\{id\}$/.test(path))
      .map(([method, { requestBody, parameters = [] }]) => {
        const content = requestBody?.content ?? {};
        const queries = parameters.filter((one) => one.in === 'query');
        return {
          method: method.toUpperCase(),
          path,
          queries,
          schema: content['application/json']?.schema,
          isForm: 'multipart/form-data' in content,
          isOtlp: 'application/x-protobuf' in content,
        };
      }),
  );
}

/** One of this many requests is an odd request (odd.mjs). */
const ODD_EVERY = 20;

/**
 * Returns the request with this number: method, path, body, headers, and how it was made. An odd request also has the
 * answer that it expects. With `isOdd` every request is odd.
 */
export function requestOf(document, operations, { seed, number, stored, isOdd }) {
  const random = randomFrom(seed * 0x9e3779b1 + number * 0x85ebca6b);
  for (let i = 0; i < 3; i++) random();
  const maker = new Maker(document, number, random, stored);
  if (isOdd) return oddRequestOf(maker, number);
  if (!stored.large && number % ODD_EVERY === 0) return oddRequestOf(maker, number / ODD_EVERY);
  const operation = maker.one(operations);
  maker.begin(operation);
  const headers = {};
  const path = pathOf(maker, operation);
  let body;
  if (operation.isForm) body = form(maker, headers);
  else if (operation.isOtlp) body = otlp(maker, headers);
  else if (operation.schema) body = json(maker, maker.schema(operation.schema));
  if (body && maker.isIn(0.2)) {
    const encoding = maker.one(Object.keys(COMPRESS));
    headers['content-encoding'] = encoding;
    body = COMPRESS[encoding](body);
    maker.pushes.push(encoding);
  }
  if (maker.isIn(0.05)) headers['idempotency-key'] = `k${maker.below(100)}`;
  return { method: operation.method, path, body, headers, how: maker.pushes.join(', ') };
}

function json(maker, value) {
  let pushed = value;
  const pushes = maker.one(maker.stored.large ? [0, 0, 0, 1] : [0, 1, 1, 1, 2, 2]);
  for (let i = pushes; i > 0; i--) pushed = maker.pushed(pushed);
  return Buffer.from(print(pushed));
}

function pathOf(maker, { path, queries }) {
  const named = {
    entity: 'acme',
    project: maker.project.split('/')[1],
    model_id: maker.stored.model,
    id: maker.stored.model,
  };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    maker.isIn(0.1)
      ? encodeURIComponent(maker.one(CHARACTERS).toWellFormed().repeat(maker.below(200)))
      : named[name],
  );
  const asked = queries
    .filter(() => maker.isIn(0.4))
    .map(({ name }) => {
      const value = maker.one([
        maker.stored.model,
        '1',
        '-1',
        '1e999',
        'asc',
        'queued',
        'x'.repeat(maker.below(4000)),
      ]);
      return `${name}${maker.one(['', '', '[]', '[a][b]'])}=${value}`;
    });
  return asked.length > 0 ? `${filled}?${asked.join('&')}` : filled;
}

function form(maker, headers) {
  headers['content-type'] = 'multipart/form-data; boundary=attack';
  const bytes = () => Buffer.alloc(maker.size(), maker.one(['x', '\r\n--attac', '\0', '-']));
  const parts = [
    ['project_id', maker.project],
    ['file', bytes()],
  ];
  const more = Math.min(maker.size(), 100_000);
  if (maker.isIn(0.3)) parts.unshift(...times(more, (i) => [`f${i}`, 'x']));
  if (maker.isIn(0.3))
    parts.push(...times(maker.below(20), () => [maker.one(['file', 'other']), bytes()]));
  maker.pushes.push(`${parts.length} parts`);
  const body = multipart(parts);
  return maker.isIn(0.1) ? body.subarray(0, maker.below(body.length)) : body;
}

const SPAN = {
  traceId: 'ab'.repeat(16),
  spanId: 'cd'.repeat(8),
  name: 'span',
  startTimeUnixNano: '1769860800000000000',
  endTimeUnixNano: '1769860801000000000',
  attributes: [
    { key: 'a.b', value: { stringValue: 'x' } },
    { key: 'n', value: { intValue: '7' } },
  ],
  events: [{ name: 'e' }],
  status: { code: 1 },
};

function otlp(maker, headers) {
  headers.project_id = maker.project;
  if (maker.isIn(0.5))
    return json(maker, {
      resourceSpans: [
        {
          resource: {
            attributes: [
              {
                key: 'r',
                value: { kvlistValue: { values: [{ key: 'k', value: { boolValue: true } }] } },
              },
            ],
          },
          scopeSpans: [{ scope: { name: 's' }, spans: [structuredClone(SPAN)] }],
        },
      ],
    });
  headers['content-type'] = 'application/x-protobuf';
  // from the inside out: each level is a field of the next one, and one level is repeated many times
  let bytes = maker.one([
    Buffer.alloc(0),
    Buffer.from([0x0a, 1, 0x61]),
    Buffer.alloc(maker.below(64), 1),
  ]);
  const levels = maker.one([
    [2, 2, 1],
    [9, 2, 2, 1],
    [1, 9, 2, 2, 1],
    [5, 2, 9, 2, 2, 1],
    [1, 1, 1],
    [11, 2, 2, 1],
    [13, 2, 2, 1],
  ]);
  const at = maker.below(levels.length);
  for (const [i, number] of levels.entries()) {
    bytes = field(number, bytes);
    if (i === at) {
      const count = Math.min(maker.size(), Math.floor(MAX_TEXT / bytes.length));
      bytes = Buffer.alloc(bytes.length * count, bytes);
      maker.pushes.push(`field ${levels.slice(i).toReversed()} ${count} times`);
    }
  }
  return bytes;
}
