import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { isDateTime } from '../../src/platform/http/dto.js';

type Schema = Record<string, any>;

/** The committed description; `npm run check:generated` keeps it equal to what the service answers. */
export const DOCUMENT = JSON.parse(readFileSync('openapi.json', 'utf8'));

/** Every answer but refusals that an operation may give: its place in the document, and its schema, if it has content. */
export const ANSWERS = Object.entries<any>(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries<any>(methods).flatMap(([method, { responses }]) =>
    Object.entries<any>(responses)
      .filter(([status]) => status.startsWith('2') && status !== '204')
      .flatMap(([status, { content }]) =>
        Object.entries<any>(content ?? { none: {} }).map(([type, { schema }]) => ({
          name: `${method.toUpperCase()} ${path} ${status} ${type}`,
          schema: schema as Schema | undefined,
        })),
      ),
  ),
);

const named = (ref: string): Schema => DOCUMENT.components.schemas[ref.split('/').at(-1)!];
const isFree = ({ type, properties, additionalProperties }: Schema) =>
  type === 'object' && !properties && additionalProperties === true;

/**
 * Where a schema says nothing of a value, and no description says that it may be anything. `isDescribed` of a part of what is
 * described.
 */
export function untyped(
  schema: Schema,
  at: string,
  isDescribed = false,
  above: readonly string[] = [],
): string[] {
  if (schema['$ref'])
    return above.includes(schema['$ref'])
      ? []
      : untyped(named(schema['$ref']), schema['$ref'], false, [...above, schema['$ref']]);
  const { type, properties, items, additionalProperties: others } = schema;
  const may = isDescribed || 'description' in schema;
  const inside = (part: Schema, place: string, isPart = false) =>
    untyped(part, at + place, isPart && may, above);
  for (const choice of ['oneOf', 'anyOf'])
    if (schema[choice]) return schema[choice].flatMap((one: Schema) => inside(one, '', true));
  if (schema['allOf']) {
    const parts = schema['allOf'].filter((part: Schema) => part['$ref'] ?? part['type']);
    return parts.length > 0 ? parts.flatMap((part: Schema) => inside(part, '')) : [at];
  }
  if (type === 'array') return items ? inside(items, '[]', true) : [at];
  if (type !== 'object') return type || may ? [] : [at];
  return [
    ...Object.entries<Schema>(properties ?? {}).flatMap(([name, one]) => inside(one, `.${name}`)),
    ...(typeof others === 'object' ? inside(others, '.*', true) : []),
    ...(others === true && !may ? [`${at}.*`] : []),
    ...(others === undefined && !properties && schema['maxProperties'] !== 0 ? [at] : []),
  ];
}

/**
 * A schema of OpenAPI as one of JSON Schema that takes nothing else: objects have the members that are listed, and null has a
 * type of its own. A choice for other requests than ours, which takes anything, is left out.
 */
function strict(schema: Schema): Schema {
  const { nullable, ...rest } = schema;
  const all = (list: Schema[]) => list.map(strict);
  const closed: Schema = {
    ...rest,
    ...(rest['items'] && { items: strict(rest['items']) }),
    ...(rest['oneOf'] && { oneOf: all(rest['oneOf']) }),
    ...(rest['allOf'] && { allOf: all(rest['allOf']) }),
    ...(rest['anyOf'] && {
      anyOf: all(rest['anyOf'].filter((one: Schema) => !(isFree(one) && one['description']))),
    }),
    ...(rest['properties'] && {
      additionalProperties: rest['additionalProperties'] ?? false,
      properties: mapped(rest['properties'], strict),
    }),
  };
  if (typeof closed['additionalProperties'] === 'object')
    closed['additionalProperties'] = strict(rest['additionalProperties']);
  return nullable ? { anyOf: [closed, { type: 'null' }] } : closed;
}

const mapped = (schemas: Record<string, Schema>, by: (schema: Schema) => Schema) =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, by(schema)]));

const ajv = new Ajv({
  strict: false,
  validateSchema: false,
  formats: { 'date-time': isDateTime, uuid: /^[0-9a-f-]{36}$/, binary: true },
}).addSchema(
  {
    components: { schemas: mapped(DOCUMENT.components.schemas, strict) },
    answers: Object.fromEntries(ANSWERS.map(({ schema }, i) => [i, schema ? strict(schema) : {}])),
  },
  'openapi',
);

/** Whether the document has the route: pages and metrics are not in it. */
export const isDocumented = (route: string) =>
  ANSWERS.some(({ name }) => name.startsWith(`${pathOf(route)} `));
const pathOf = (route: string) => route.replaceAll(/:(\w+)/g, '{$1}');

/** What of an answer is not as the document says. Of bytes it says their type only. */
export function faultsOf(route: string, { status, headers }: Response, text: string): string[] {
  if (status === 204) return text === '' ? [] : ['204 has content'];
  const type = headers.get('content-type')?.split(';')[0];
  const name = `${pathOf(route)} ${status} ${type}`;
  const i = ANSWERS.findIndex((answer) =>
    [name, `${pathOf(route)} ${status} */*`].includes(answer.name),
  );
  if (i < 0) return [`is not described: ${name}`];
  if (ANSWERS[i]!.schema?.['type'] === 'string') return [];
  const values = type === 'application/jsonl' ? text.split('\n').slice(0, -1) : [text];
  const isValid = ajv.getSchema(`openapi#/answers/${i}`)!;
  return values.flatMap((value) =>
    isValid(JSON.parse(value))
      ? []
      : isValid.errors!.map(
          ({ instancePath, message, params }) =>
            `${type} ${instancePath.replaceAll(/\d+/g, 'N')} ${message} ${JSON.stringify(params)}`,
        ),
  );
}
