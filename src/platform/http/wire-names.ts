import { AsyncLocalStorage } from 'node:async_hooks';
import type { WIRE_DIALECTS } from '../config/config.js';

type Dialect = (typeof WIRE_DIALECTS)[number];

/** Names that carry a product prefix, spelled in each dialect. */
const SPELLINGS = {
  /** Scheme of refs: `<scheme>:///<entity>/<project>/…`. */
  scheme: { svc: 'svc', weave: 'weave' },
  ref: { svc: 'svc_ref', weave: 'weave_ref' },
  userId: { svc: 'svc_user_id', weave: 'wb_user_id' },
  username: { svc: 'svc_username', weave: 'wb_username' },
  userIds: { svc: 'svc_user_ids', weave: 'wb_user_ids' },
  runId: { svc: 'svc_run_id', weave: 'wb_run_id' },
  runIds: { svc: 'svc_run_ids', weave: 'wb_run_ids' },
  runStep: { svc: 'svc_run_step', weave: 'wb_run_step' },
  runStepEnd: { svc: 'svc_run_step_end', weave: 'wb_run_step_end' },
  /** Key of the derived part of a call's summary. */
  summary: { svc: 'svc', weave: 'weave' },
  /** First word of the reserved feedback types: `<prefix>.reaction.1`. */
  feedback: { svc: 'svc', weave: 'wandb' },
} as const;

/** The neutral spelling is the type of all, so that the compiler checks each use. */
type WireNames = {
  readonly [Name in Exclude<keyof typeof SPELLINGS, 'scheme'>]: (typeof SPELLINGS)[Name]['svc'];
} & { readonly scheme: Dialect };

const spellNames = (dialect: Dialect) =>
  Object.fromEntries(
    Object.entries(SPELLINGS).map(([name, spellings]) => [name, spellings[dialect]]),
  ) as WireNames;

const NAMES: Record<Dialect, WireNames> = { svc: spellNames('svc'), weave: spellNames('weave') };

/** The names of both dialects. */
export const ALL_WIRE = [NAMES.svc, NAMES.weave] as const;

const dialects = new AsyncLocalStorage<Dialect>();

/** Runs the handling of a request whose client reads the names of a dialect. */
export const inDialect = <T>(dialect: Dialect, work: () => T): T => dialects.run(dialect, work);

const dialect = (): Dialect => dialects.getStore() ?? 'svc';

/** Returns the names that the client of the request reads. Outside of requests they are neutral. */
export const wire = (): WireNames => NAMES[dialect()];

/** Returns the names of the dialect that the client of the request does not read. */
export const otherWire = (): WireNames => NAMES[dialect() === 'svc' ? 'weave' : 'svc'];

/** Makes a value once for each dialect, and returns a function that answers the value of the request's dialect. */
export function perDialect<T>(make: () => T): () => T {
  const made: Partial<Record<Dialect, T>> = {};
  return () => (made[dialect()] ??= make());
}

const FIELDS = ['ref', 'userId', 'userIds', 'runId', 'runIds', 'runStep', 'runStepEnd'] as const;

const spellFields = (from: WireNames, to: WireNames) =>
  new Map<string, string>(FIELDS.map((name) => [from[name], to[name]]));
const weaveFields = spellFields(NAMES.svc, NAMES.weave);
const otherFields = perDialect(() => spellFields(wire(), otherWire()));

/**
 * Returns weave's spelling of a request field. Undefined when both dialects spell it in the same way. DTOs have the
 * neutral names, and validation replaces weave's.
 */
export const weaveSpelling = (field: string): string | undefined => weaveFields.get(field);

/** Returns true for a name that only clients of the other dialect read. */
export const isOtherSpelling = (field: string): boolean =>
  FIELDS.some((name) => otherWire()[name] === field);

/**
 * Adds the other dialect's spelling to a table of columns, because requests may use either. The added names are not
 * enumerable.
 */
export function inBothSpellings<Columns extends object>(columns: Columns): Columns {
  const derived = `summary.${wire().summary}.`;
  for (const [name, value] of Object.entries(columns)) {
    const spelling =
      otherFields().get(name) ??
      (name.startsWith(derived) && `summary.${otherWire().summary}.${name.slice(derived.length)}`);
    if (spelling) Object.defineProperty(columns, spelling, { value, enumerable: false });
  }
  return columns;
}

/** Clients of weave send their requests below this path. */
export const WEAVE_DOOR = '/weave';

/** Returns the refusal of a request that only the other dialect can answer. */
export const otherDialect = (what: string) =>
  wire().scheme === 'svc'
    ? `${what} by the names of the dialect weave, which this service answers below ${WEAVE_DOOR}: set WF_TRACE_SERVER_URL=<service>${WEAVE_DOOR}`
    : `${what} by the neutral names, and this address answers in those of the dialect weave`;
