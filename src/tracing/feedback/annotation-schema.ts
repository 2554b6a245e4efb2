import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';

const OPTIONS = {
  strict: false,
  validateSchema: false,
  validateFormats: false,
  logger: false,
} as const;

const errors = new Ajv(OPTIONS);

export interface AnnotationValues {
  schemas: string[];
  values: { schema: number; text: string }[];
}

export interface AnnotationProblem {
  /** Index of the value. */
  at: number;
  message: string;
}

/** Characters of a message, which may quote the schema. */
const MAX_MESSAGE = 1000;

/**
 * Returns the values that do not satisfy their JSON Schema, with reasons. Clients write the schemas, and a short
 * pattern can keep a regular expression busy for years: call this in a thread that can be terminated. Keywords that the
 * draft does not define are ignored.
 */
export function annotationProblems({ schemas, values }: AnnotationValues): AnnotationProblem[] {
  return values.flatMap(({ schema, text }, at) => {
    const message = schemaProblem(schemas[schema]!, text);
    return message === null ? [] : [{ at, message: message.slice(0, MAX_MESSAGE) }];
  });
}

function schemaProblem(schema: string, text: string): string | null {
  try {
    const isValid = validator(schema);
    if (isValid(JSON.parse(text))) return null;
    return `does not satisfy the schema of the annotation: ${errors.errorsText(isValid.errors, { dataVar: 'value' })}`;
  } catch (error) {
    return error instanceof RangeError
      ? 'cannot be judged: the schema of the annotation is nested too deeply'
      : 'cannot be judged: the schema of the annotation is not a valid JSON Schema';
  }
}

/** Caches validators: compiling costs a thousand times as much as validating. */
const validators = new LRUCache<string, ValidateFunction>({
  max: 100,
  maxSize: 2 * 1024 * 1024,
  sizeCalculation: (_, schema) => schema.length,
});

function validator(schema: string): ValidateFunction {
  let isValid = validators.get(schema);
  if (!isValid) validators.set(schema, (isValid = compile(JSON.parse(schema))));
  return isValid;
}

/** Compiles by draft 2020-12, unless the schema names an older draft, in which tuples are written differently. */
function compile(schema: unknown): ValidateFunction {
  const draft = (schema as { $schema?: unknown } | null)?.$schema;
  const isOld = typeof draft === 'string' && /\/draft-0[3-7]\//.test(draft);
  const isValid = new (isOld ? Ajv : Ajv2020)(OPTIONS).compile(schema as object | boolean);
  if ('$async' in isValid) throw new TypeError('an asynchronous schema'); // its result would be a promise
  return isValid;
}
