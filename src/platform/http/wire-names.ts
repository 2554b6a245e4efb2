import { config } from '../config/process-config.js';

type Dialect = typeof config.wireDialect;

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

type Names<In extends Dialect> = {
  [Name in keyof typeof SPELLINGS]: (typeof SPELLINGS)[Name][In];
};

const spellNames = (dialect: Dialect) =>
  Object.fromEntries(
    Object.entries(SPELLINGS).map(([name, spellings]) => [name, spellings[dialect]]),
  );

/**
 * Every wire name that carries a product prefix, in the dialect that `WIRE_DIALECT` selects when the code is loaded.
 * DTO properties, query columns and answers use these names; requests may also use the other spelling. The type has the
 * neutral spelling, so that the compiler checks every use under either dialect.
 */
export const WIRE = { ...spellNames(config.wireDialect), scheme: config.wireDialect } as Omit<
  Names<'svc'>,
  'scheme'
> & { scheme: Dialect };

/** Every wire name of `WIRE`, in the dialect that is not configured. */
export const OTHER_WIRE = spellNames(config.wireDialect === 'weave' ? 'svc' : 'weave') as Omit<
  Names<'weave'>,
  'scheme'
> & { scheme: Dialect };

const FIELDS = ['ref', 'userId', 'userIds', 'runId', 'runIds', 'runStep', 'runStepEnd'] as const;
const others = new Map<string, string>(FIELDS.map((name) => [WIRE[name], OTHER_WIRE[name]]));

/** Returns the other dialect's spelling of a request field. Undefined when both spell it in the same way. */
export const otherSpelling = (field: string): string | undefined => others.get(field);

export const isOtherSpelling = (field: string): boolean =>
  FIELDS.some((name) => OTHER_WIRE[name] === field);

/**
 * Adds the other dialect's spelling to a table of columns, because requests may use either. The added names are not
 * enumerable.
 */
export function inBothSpellings<Columns extends object>(columns: Columns): Columns {
  const derived = `summary.${WIRE.summary}.`;
  for (const [name, value] of Object.entries(columns)) {
    const other =
      otherSpelling(name) ??
      (name.startsWith(derived) && `summary.${OTHER_WIRE.summary}.${name.slice(derived.length)}`);
    if (other) Object.defineProperty(columns, other, { value, enumerable: false });
  }
  return columns;
}

/** Returns the refusal of a request that only the other dialect can answer. */
export const otherDialect = (what: string) =>
  `${what} by the names of the dialect ${OTHER_WIRE.scheme}, and this service answers in those of ${WIRE.scheme}: start it with WIRE_DIALECT=${OTHER_WIRE.scheme}`;
