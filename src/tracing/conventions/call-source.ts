import { isObject } from '../../platform/json/json-object.js';

/**
 * Parts of the work that make calls. Statistics and lists of production leave out the others:
 * docs/adr/0140-sources-of-calls.md.
 */
export const SOURCES = ['production', 'evaluation', 'playground'] as const;
export type CallSource = (typeof SOURCES)[number];
export const PRODUCTION: CallSource = 'production';

const isSource = (value: unknown): value is CallSource => SOURCES.includes(value as CallSource);

/** Values of a call that decide its source. `isTop` is true if it names no parent. */
interface SourceSigns {
  opName: string;
  isTop: boolean;
  attributes: Iterable<readonly [name: string, value: unknown]>;
  /** Attributes of the resource, if they are not in `attributes.resource`. */
  resource?: object;
}

/** Matches ops of an evaluation in both SDKs of Weave (weave 0.53 of PyPI and npm), by name or in the ref of the op. */
const EVALUATION_OP =
  /(?:^|\/)Evaluation\.(?:evaluate|predict_and_score|predictAndScore|summarize)(?::|$)/;
/** The op of `/completions/create`. Its field `source` is an attribute. */
const COMPLETIONS_OP = 'weave.completions_create';

/**
 * Environments of evaluations. Langfuse also hides them from its lists of traces (web/src/features, version 3).
 * `sdk-experiment` comes from langfuse 3 to 5 (PyPI).
 */
const EVALUATION_ENVIRONMENTS = new Set<unknown>([
  'sdk-experiment',
  'langfuse-prompt-experiment',
  'langfuse-llm-as-a-judge',
  'langfuse-evaluation',
]);
const isEvaluationEnvironment = (value: unknown) => EVALUATION_ENVIRONMENTS.has(value);

const isEvaluator = (value: unknown, isTop: boolean) =>
  isTop && typeof value === 'string' && /^"?evaluator"?$/i.test(value);

/**
 * Members of the attribute `weave` in typed evaluation runs (docs/adr/0132-evaluations.md), and in spans below an
 * evaluation.
 */
const OF_TYPED_RUN = ['evaluation_run', 'evaluation_run_id', 'prediction', 'prediction_id', 'eval'];

/** Attributes with which other tools mark the calls of an evaluation, or only its topmost call. */
const EVALUATION_SIGNS = new Map<string, (value: unknown, isTop: boolean) => boolean>([
  // weave 0.51 to 0.53 (PyPI)
  ['_weave_eval_meta', (value) => value !== null],
  ['weave', (value) => isObject(value) && OF_TYPED_RUN.some((name) => Object.hasOwn(value, name))],
  ['langfuse.environment', isEvaluationEnvironment],
  // a member of Langfuse's events
  ['environment', isEvaluationEnvironment],
  // pydantic-evals 1.x: https://ai.pydantic.dev/evals/how-to/logfire-integration/
  ['gen_ai.operation.name', (value) => value === 'experiment'],
  // LangSmith: https://docs.langchain.com/langsmith/evaluate-with-opentelemetry
  ['langsmith.reference_example_id', (value) => typeof value === 'string' && value !== ''],
  // a judge that runs on its own; a judge within a request belongs to the request: openinference-semantic-conventions
  // 0.1.30, MLflow 3.4
  ['openinference.span.kind', isEvaluator],
  ['mlflow.spanType', isEvaluator],
]);
/**
 * Prefixes of attributes of Weave's spans below an evaluation (weave 0.54), and of Langfuse's experiments (langfuse 4
 * and 5).
 */
export const SOURCE_PREFIXES = ['weave.eval.', 'langfuse.experiment.'];

/**
 * Attributes that decide the source, in addition to those with `SOURCE_PREFIXES`. No other attributes are read from
 * calls of older builds.
 */
export const SOURCE_ATTRIBUTES = [
  'skein',
  'skein.source',
  'resource',
  'source',
  ...EVALUATION_SIGNS.keys(),
];
/**
 * Returns the source that a call states itself. Null if it states none: it then takes the source of the call above. An
 * attribute `skein.source` wins over all other signs. A value that is no source counts as none.
 */
export function ownSource({ opName, isTop, attributes, resource }: SourceSigns): CallSource | null {
  let isEvaluation = opName.includes('Evaluation.') && EVALUATION_OP.test(opName);
  let ofResource = resource ? resourceSource(resource) : null;
  for (const [name, value] of attributes) {
    const explicit = namedSource(name, value, opName);
    if (explicit) return explicit;
    if (name === 'resource' && isObject(value)) ofResource = resourceSource(value);
    else isEvaluation ||= isSign(name, value, isTop);
  }
  return isEvaluation && ofResource === null ? 'evaluation' : ofResource;
}

/** Returns the source that the resource of spans states. All spans of a process have the same resource. */
function resourceSource(resource: object): CallSource | null {
  const attributes = resource as Record<string, unknown>;
  if (isSource(attributes['skein.source'])) return attributes['skein.source'];
  return isEvaluationEnvironment(attributes['langfuse.environment']) ? 'evaluation' : null;
}

function namedSource(name: string, value: unknown, opName: string): CallSource | null {
  const named =
    name === 'skein' && isObject(value)
      ? value['source']
      : name === 'skein.source' || (name === 'source' && opName === COMPLETIONS_OP)
        ? value
        : null;
  return isSource(named) ? named : null;
}

const isSign = (name: string, value: unknown, isTop: boolean): boolean =>
  EVALUATION_SIGNS.get(name)?.(value, isTop) ??
  SOURCE_PREFIXES.some((prefix) => name.startsWith(prefix));

/** Matches texts of attributes that may state a source. Other texts need not be parsed. */
const MAY_SAY =
  /"skein[".]|"_weave_eval_meta"|"weave"|"(?:weave\.eval|langfuse\.experiment)\.|sdk-experiment|"langfuse-(?:prompt|llm|eval)|"experiment"|reference_example_id|evaluator|"source"/i;

/** Returns the attributes in a JSON text, if they may state a source. For callers that have no parsed copy. */
export function attributesIn(text: string | null | undefined): [string, unknown][] {
  if (!text || !MAY_SAY.test(text)) return [];
  return Object.entries(JSON.parse(text) as object);
}
