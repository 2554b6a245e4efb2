import { runInNewContext } from 'node:vm';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** What takes longer is refused: a pattern of a few characters can keep a regular expression busy for years. */
const TIMEOUT_MS = 250;

const OPTIONS = {
  strict: false,
  validateSchema: false,
  validateFormats: false,
  logger: false,
} as const;

const errors = new Ajv(OPTIONS);

/** A value and the schema it is to satisfy. */
export interface Judged {
  schema: unknown;
  value: unknown;
}

/**
 * The first of the values that does not satisfy its JSON Schema, and why; null when all do. The schemas are clients', so
 * compiling and running all of them together is done against the clock. One that stands there twice is compiled once.
 * Words that the draft does not know are ignored.
 */
export function firstProblem(all: readonly Judged[]): { at: number; message: string } | null {
  const validators = new Map<unknown, ValidateFunction>();
  let at = 0;
  const judge = (): string | null => {
    for (; at < all.length; at++) {
      const { schema, value } = all[at]!;
      const isValid = validators.get(schema) ?? compile(schema);
      validators.set(schema, isValid);
      if (!isValid(value))
        return `does not satisfy the schema of the annotation: ${errors.errorsText(isValid.errors, { dataVar: 'value' })}`;
    }
    return null;
  };
  if (all.length === 0) return null;
  try {
    const message = runInNewContext('judge()', { judge }, { timeout: TIMEOUT_MS }) as string | null;
    return message === null ? null : { at, message };
  } catch (error) {
    const isTimeout = (error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    const message = isTimeout
      ? `could not be held against the schema of the annotation within ${TIMEOUT_MS} ms for the whole request`
      : 'cannot be judged: the schema of the annotation is no valid JSON Schema';
    return { at, message };
  }
}

/** By draft 2020-12, unless the schema names an older one, whose tuples are spelled differently. */
function compile(schema: unknown): ValidateFunction {
  const draft = (schema as { $schema?: unknown } | null)?.$schema;
  const isOld = typeof draft === 'string' && /\/draft-0[3-7]\//.test(draft);
  const isValid = new (isOld ? Ajv : Ajv2020)(OPTIONS).compile(schema as object | boolean);
  if ('$async' in isValid) throw new TypeError('an asynchronous schema'); // its rejection would end the process
  return isValid;
}
