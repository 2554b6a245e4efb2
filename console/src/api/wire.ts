/** The names that depend on the dialect of the service (`WIRE_DIALECT`). */
export interface Wire {
  scheme: string;
  ref: string;
  userId: string;
  userIds: string;
  runId: string;
  /** The key of the derived part of a call's summary. */
  summary: string;
  /** The first word of the reserved feedback types. */
  feedback: string;
}

const DIALECTS: Record<string, Wire> = {
  svc: {
    scheme: 'svc',
    ref: 'svc_ref',
    userId: 'svc_user_id',
    userIds: 'svc_user_ids',
    runId: 'svc_run_id',
    summary: 'svc',
    feedback: 'svc',
  },
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

/** Those of the service in use; set once, before anything is shown. */
export let wire: Wire = DIALECTS['svc']!;

export function setDialect(name: string): void {
  wire = DIALECTS[name] ?? wire;
}
