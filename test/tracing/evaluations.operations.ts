import { plantRun } from '../doors/weave.operations.js';
import { counts, inPath, type Operation, reads, withBody } from '../support/operation-rows.js';

export const evaluationsOperations: Record<string, Operation> = {
  'POST /v2/:entity/:project/eval_results/query': reads(
    inPath(async (planted, app) => ({
      evaluation_call_ids: [(await plantRun(planted, app)).run],
      include_summary: true,
    })),
  ),
  'POST /v2/:entity/:project/eval_results/compare': counts(
    inPath(async (planted, app) => {
      const { run } = await plantRun(planted, app);
      return { baseline_call_id: run, other_call_ids: [run] };
    }),
  ),
  'POST /evaluations/status': counts(withBody(() => ({ call_id: 'call that is not there' }))),
};
