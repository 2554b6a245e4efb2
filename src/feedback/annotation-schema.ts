import { runInNewContext } from 'node:vm';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** A schema or value that takes longer is refused: a pattern of a few characters can keep a regular expression busy for years. */
const TIMEOUT_MS = 250;

/**
 * Why the value does not satisfy a JSON Schema (draft 2020-12), null when it does. The schema is a client's, so it is
 * compiled and run against the clock. Words that draft does not know are ignored.
 */
export function schemaProblem(schema: unknown, value: unknown): string | null {
  const judge = (): string | null => {
    const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false });
    const isValid = ajv.compile(schema as object | boolean);
    if ('$async' in isValid) throw new TypeError('an asynchronous schema'); // its rejection would end the process
    if (isValid(value)) return null;
    return `does not satisfy the schema of the annotation: ${ajv.errorsText(isValid.errors, { dataVar: 'value' })}`;
  };
  try {
    return runInNewContext('judge()', { judge }, { timeout: TIMEOUT_MS }) as string | null;
  } catch (error) {
    const isTimeout = (error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    return isTimeout
      ? `could not be held against the schema of the annotation within ${TIMEOUT_MS} ms`
      : 'cannot be judged: the schema of the annotation is no valid JSON Schema';
  }
}
