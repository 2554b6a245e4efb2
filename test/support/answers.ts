import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { isDateTime } from '../../src/platform/http/dto.js';

type Schema = Record<string, any>;

/** The committed openapi.json. `npm run check:generated` keeps it equal to the served one. */
export const DOCUMENT = JSON.parse(readFileSync('generated/openapi.json', 'utf8'));

/** Every successful answer of an operation: its name in the document, and the schema of its content. */
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
 * Lists the places where a schema allows any value without a description that permits it. `isDescribed` is true inside
 * of a described value.
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
 * Turns an OpenAPI schema into a JSON Schema that accepts nothing else: objects have only the listed members, and null
 * has a type of its own. A choice that accepts anything is dropped, because it belongs to other requests than ours.
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

/** True when the document has the route. Pages and metrics are not documented. */
export const isDocumented = (route: string) =>
  ANSWERS.some(({ name }) => name.startsWith(`${pathOf(route)} `));
const pathOf = (route: string) => route.replaceAll(/[:*](\w+)/g, '{$1}');

/** The differences between an answer and its description. For bytes only the type is compared. */
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
