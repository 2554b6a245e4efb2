import { config } from '../config/process-config.js';

const prefix = config.wireDialect === 'weave' ? 'wb' : 'svc';

/**
 * Every wire name that carries a product prefix, chosen by `WIRE_DIALECT` when the code is loaded:
 * properties of DTOs and columns of queries are named by it. The neutral spelling is the type of
 * all of them, so that every use is checked by the compiler whatever the dialect in force.
 */
export const WIRE = {
  /** Scheme of refs: `<scheme>:///<entity>/<project>/…`. */
  scheme: config.wireDialect,
  ref: (config.wireDialect === 'weave' ? 'weave_ref' : 'svc_ref') as 'svc_ref',
  userId: `${prefix}_user_id` as 'svc_user_id',
  userIds: `${prefix}_user_ids` as 'svc_user_ids',
  runId: `${prefix}_run_id` as 'svc_run_id',
  runIds: `${prefix}_run_ids` as 'svc_run_ids',
  runStep: `${prefix}_run_step` as 'svc_run_step',
  runStepEnd: `${prefix}_run_step_end` as 'svc_run_step_end',
  /** Key of the derived part of a call's summary. */
  summary: config.wireDialect as 'svc',
  /** First word of the reserved feedback types: `<prefix>.reaction.1`. */
  feedback: config.wireDialect === 'weave' ? 'wandb' : 'svc',
} as const;
