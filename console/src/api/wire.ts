const NEUTRAL_NAMES = {
  scheme: 'svc',
  ref: 'svc_ref',
  userId: 'svc_user_id',
  userIds: 'svc_user_ids',
  runId: 'svc_run_id',
  /** The key of the derived part of a call's summary. */
  summary: 'svc',
  /** The first word of the reserved feedback types. */
  feedback: 'svc',
} as const;

/**
 * Names that depend on the dialect of the service (`WIRE_DIALECT`). The types generated from openapi.json have the
 * neutral spelling, so all dialects use that type.
 */
type Wire = typeof NEUTRAL_NAMES;

const DIALECTS: Record<string, Record<keyof Wire, string>> = {
  svc: NEUTRAL_NAMES,
  weave: {
    scheme: 'weave',
    ref: 'weave_ref',
    userId: 'wb_user_id',
    userIds: 'wb_user_ids',
    runId: 'wb_run_id',
    summary: 'weave',
    feedback: 'wandb',
  },
};

/** The names of the service in use. Set once, before anything is shown. */
export let wire: Wire = NEUTRAL_NAMES;

export function setDialect(name: string): void {
  wire = (DIALECTS[name] ?? wire) as Wire;
}
