import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { invalidRequest } from '../../platform/errors.js';
import { parseRef } from '../../platform/http/refs.js';
import { memberTexts } from '../../platform/json/json-text.js';
import { CallsService } from '../calls/calls.service.js';
import { ObjectsService } from '../objects/objects.service.js';
import { TablesService } from '../objects/tables/tables.service.js';
import type { EvaluationStatusQueryDto } from './eval-results.dto.js';
import { EvalResultsService } from './eval-results.service.js';

/** Bytes of an evaluation or a dataset object that is read for its status. */
const MAX_VALUE_BYTES = 1024 * 1024;

@Injectable()
export class EvaluationStatusService {
  constructor(
    private readonly results: EvalResultsService,
    private readonly calls: CallsService,
    private readonly objects: ObjectsService,
    private readonly tables: TablesService,
  ) {}

  /** Returns the status as JSON text. */
  async status({ project_id, call_id }: EvaluationStatusQueryDto, caller: Caller): Promise<string> {
    const root = (await this.results.roots(project_id, [call_id])).get(call_id);
    if (!root) return '{"status":{"code":"not_found"}}';
    if (root.op_name !== 'Evaluation.evaluate')
      throw invalidRequest([
        { path: 'call_id', message: 'is the id of a call that is not an evaluation' },
      ]);
    if (root.exception !== null)
      return JSON.stringify({ status: { code: 'failed', error: root.exception } });
    if (root.ended_at !== null) {
      const [call] = await this.calls.stored(project_id, [call_id]);
      return `{"status":{"code":"complete","output":${call?.documents.output ?? 'null'}}}`;
    }
    const { ended, all } = await this.results.progress(project_id, call_id);
    const expected = await this.expectedRows(root.evaluation_ref, caller);
    const total_rows = Math.max(expected, all);
    return JSON.stringify({ status: { code: 'running', completed_rows: ended, total_rows } });
  }

  /** Returns the number of rows in the evaluation's dataset times its trials, or 0 when unknown. */
  private async expectedRows(evaluationRef: string | null, caller: Caller): Promise<number> {
    const evaluation = await this.members(evaluationRef, caller);
    const dataset = await this.members(scalarIn(evaluation, 'dataset'), caller);
    const table = TABLE_REF.exec(String(scalarIn(dataset, 'rows')));
    if (!table || !caller.reaches(table[1]!)) return 0;
    const { count } = await this.tables.stats({ project_id: table[1]!, digest: table[2]! });
    const trials = Number(scalarIn(evaluation, 'trials') ?? 1);
    return Number.isInteger(trials) && trials > 0 ? count * trials : count;
  }

  /**
   * Returns the texts of the members of the object behind a ref. Returns undefined when it does not exist or the caller
   * has no access.
   */
  private async members(ref: unknown, caller: Caller): Promise<Map<string, string> | undefined> {
    const parsed = parseRef(ref);
    if (!parsed?.digest || !caller.reaches(parsed.projectId)) return undefined;
    const { projectId, name, digest } = parsed;
    const version = { project_id: projectId, object_id: name, digest };
    const val = await this.objects.valueUpTo(version, MAX_VALUE_BYTES);
    return val?.startsWith('{') ? memberTexts(val) : undefined;
  }
}

/** Returns a member that is neither an object nor a list. */
function scalarIn(members: ReadonlyMap<string, string> | undefined, name: string): unknown {
  const text = members?.get(name) ?? 'null';
  return /^[{[]/.test(text) ? undefined : JSON.parse(text);
}

const TABLE_REF = /^[a-z]+:\/\/\/([^/]+\/[^/]+)\/table\/([^/]+)$/;
