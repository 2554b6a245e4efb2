import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { v5 as uuidv5, v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../../platform/auth/caller.js';
import { ApiError, invalidRequest } from '../../../platform/errors.js';
import { Database } from '../../../platform/database/database.js';
import type { Context } from '../../../platform/http/context.js';
import { DocumentReader } from '../../../platform/http/document-reader.js';
import { parseRef, refTo } from '../../../platform/http/refs.js';
import { wire } from '../../../platform/http/wire-names.js';
import { memberTexts, objectText, valueAt } from '../../../platform/json/json-text.js';
import type { Sql } from '../../../platform/query/sql.js';
import {
  CallsService,
  type StoredCall,
  type WholeCall,
} from '../../../tracing/calls/calls.service.js';
import { FeedbackService } from '../../../tracing/feedback/feedback.service.js';
import { AutoSummary, ScoreSummaries } from './auto-summary.js';
import type {
  PredictionCreateDto,
  PredictionCreatedDto,
  RunCreateDto,
  RunCreatedDto,
  RunsQueryDto,
  ScoreCreateDto,
  ScoreCreatedDto,
} from './evaluation-runs.dto.js';
import {
  type RunsPage,
  predictionsQuery,
  runsQuery,
  scoresBeside,
  scoresQuery,
  trialOutputs,
} from './evaluation-runs.query.js';
import type { DeletedDto } from '../typed-objects/typed-objects.dto.js';
import { TypedObjectsService } from '../typed-objects/typed-objects.service.js';

/** Scores of one prediction. */
const MAX_SCORES = 1000;
/** Characters of the scores of one prediction, which become one document. */
const MAX_SCORES_LENGTH = 16 * 1024 * 1024;
/**
 * Namespace for the id of a run's last call, which is derived from the run's id. Finishing a run twice writes one call.
 */
const SUMMARY_NAMESPACE = '5f0d6d0c-5d0a-4c57-9a3c-6f0b4f2f6f5e';

type CallEnd = Parameters<CallsService['end']>[0];

const KINDS = { runs: runsQuery, predictions: predictionsQuery, scores: scoresQuery };
type RecordKind = keyof typeof KINDS;
const NOUNS = { runs: 'evaluation run', predictions: 'prediction', scores: 'score' };

const json = (value: unknown) => JSON.stringify(value);

/** Records runs of evaluations, predictions and scores as calls like those of the SDKs. */
@Injectable()
export class EvaluationRunsService {
  constructor(
    private readonly database: Database,
    private readonly calls: CallsService,
    private readonly feedback: FeedbackService,
    private readonly objects: TypedObjectsService,
  ) {}

  async createRun(project: string, body: RunCreateDto, caller: Caller): Promise<RunCreatedDto> {
    const { evaluation, model, source_evaluation_run_id } = body;
    const id = uuidv7();
    const op = await this.objects.placeholderOp(project, 'Evaluation.evaluate', caller);
    const source = source_evaluation_run_id ? { source_evaluation_run_id } : {};
    const marks = { evaluation_run: 'true', evaluation, model, ...source };
    await this.store(caller, {
      call: started(project, id, op, { trace_id: id }),
      documents: { attributes: json({ weave: marks }), inputs: json({ self: evaluation, model }) },
    });
    return { evaluation_run_id: id };
  }

  /** `text` is the request body as it was sent. */
  async createPrediction(
    project: string,
    { model, evaluation_run_id: runId, genai_span_ref }: PredictionCreateDto,
    text: string,
    caller: Caller,
  ): Promise<PredictionCreatedDto> {
    const id = uuidv7();
    const [inputs, output] = [valueAt(text, 'inputs'), valueAt(text, 'output')];
    const run = runId ? await this.call(project, runId, 'runs') : null;
    const op = await this.objects.placeholderOp(project, `${modelName(model)}.predict`, caller);
    const marks = objectText([
      ['prediction', '"true"'],
      ['model', json(model)],
      ...(runId ? [['evaluation_run_id', json(runId)] as [string, string]] : []),
      ...(genai_span_ref !== undefined && genai_span_ref !== null
        ? [['genai_span_ref', valueAt(text, 'genai_span_ref')] as [string, string]]
        : []),
    ]);
    const above = run && (await this.trialAbove(project, run, { id, model, inputs }, caller));
    const place = above
      ? { trace_id: run.call.trace_id!, parent_id: above.call['id'] }
      : { trace_id: id };
    const call = started(project, id, op, place);
    const prediction = {
      call: { ...call, ended_at: call.started_at },
      documents: {
        attributes: `{"weave":${marks}}`,
        inputs: objectText([
          ['self', json(model)],
          ['inputs', inputs],
        ]),
        output,
      },
    };
    await this.store(caller, ...(above ? [above] : []), prediction);
    return { prediction_id: id };
  }

  /** Builds the trial call that becomes the parent of a prediction. */
  private async trialAbove(
    project: string,
    run: StoredCall,
    { id, model, inputs }: { id: string; model: string; inputs: string },
    caller: Caller,
  ): Promise<WholeCall & { call: Record<string, string> }> {
    const op = await this.objects.placeholderOp(project, 'Evaluation.predict_and_score', caller);
    const place = { trace_id: run.call.trace_id!, parent_id: run.call.id };
    return {
      call: started(project, uuidv7(), op, place),
      documents: {
        attributes: json({ weave: { predict_call_id: id } }),
        inputs: objectText([
          ['self', memberText(run.documents.inputs, 'self')],
          ['model', json(model)],
          ['example', inputs],
        ]),
      },
    };
  }

  /** `text` is the request body as it was sent. */
  async createScore(
    project: string,
    { prediction_id, scorer, evaluation_run_id: given }: ScoreCreateDto,
    text: string,
    caller: Caller,
  ): Promise<ScoreCreatedDto> {
    const ref = parseRef(scorer);
    if (ref?.kind !== 'object')
      throw invalidRequest([{ path: 'scorer', message: 'must be a ref of an object' }]);
    const prediction = await this.call(project, prediction_id, 'predictions');
    const marks = memberText(prediction.documents.attributes, 'weave');
    const runId = given ?? (JSON.parse(memberText(marks, 'evaluation_run_id')) as string | null);
    if (given) await this.call(project, given, 'runs');
    const id = uuidv7();
    const op = await this.objects.placeholderOp(project, `${ref.name}.score`, caller);
    const parent_id = prediction.call['parent_id'] ?? runId;
    const trace_id = parent_id
      ? prediction.call['parent_id']
        ? prediction.call['trace_id']!
        : runId!
      : id;
    const value = valueAt(text, 'value');
    const call = started(project, id, op, { trace_id, ...(parent_id && { parent_id }) });
    const feedback: [string, string][] = [
      ['project_id', json(project)],
      ['feedback_id', json(id)],
      ['svc_ref', json(refTo(project, `call/${prediction_id}`))],
      ['feedback_type', json(`${wire().feedback}.runnable.${ref.name}`)],
      ['payload', `{"output":${value}}`],
      ['runnable_ref', json(scorer)],
      ['call_ref', json(refTo(project, `call/${id}`))],
    ];
    const said = objectText(feedback);
    await this.feedback.assertMayPut(said, caller); // before the call is stored
    const run = runId ? { evaluation_run_id: runId } : {};
    await this.store(caller, {
      call: { ...call, ended_at: call.started_at },
      documents: {
        attributes: json({ weave: { score: 'true', prediction_id, scorer, ...run } }),
        inputs: objectText([
          ['self', json(scorer)],
          ['inputs', memberText(prediction.documents.inputs, 'inputs')],
          ['output', prediction.documents.output ?? 'null'],
        ]),
        output: value,
      },
    });
    await this.feedback.put(said, caller);
    return { score_id: id };
  }

  /** Ends the trial of a prediction with its output and scores. Repeating it includes scores that arrived since. */
  async finishPrediction(project: string, id: string, context: Context): Promise<void> {
    const prediction = await this.call(project, id, 'predictions');
    const parentId = prediction.call['parent_id'];
    const [trial] = parentId ? await this.calls.stored(project, [parentId]) : [];
    const ended_at = trial?.call['ended_at'] ?? now();
    const output = prediction.documents.output ?? 'null';
    const end = (callId: string, documents: [string, string][]) =>
      this.end({ project_id: project, id: callId, ended_at }, documents, context);
    await end(id, [['output', output], ...repeatedSummary(prediction)]);
    if (!trial) return;
    const texts = await this.scoresBeside(project, trial.call.id);
    const seconds = (Date.parse(ended_at) - Date.parse(prediction.call['started_at']!)) / 1000;
    const said = objectText([
      ['output', output],
      ['scores', objectText(texts)],
      ['model_latency', json({ mean: seconds })],
    ]);
    await end(trial.call.id, [['output', said], ...repeatedSummary(trial)]);
  }

  /**
   * Returns the outputs of the scorers below a trial as JSON texts, keyed by scorer.
   * @throws ApiError `too_large`
   */
  private async scoresBeside(project: string, trialId: string): Promise<Map<string, string>> {
    const texts = new Map<string, string>();
    let length = 0;
    const batches = await this.stream(scoresBeside(project, trialId, MAX_SCORES));
    for await (const batch of batches as AsyncIterable<string[]>)
      for (const text of batch) {
        length += text.length;
        if (length > MAX_SCORES_LENGTH)
          throw new ApiError(
            'too_large',
            `the scores of a prediction hold over ${MAX_SCORES_LENGTH} characters`,
          );
        const members = memberTexts(text);
        const scorer = JSON.parse(members.get('scorer')!) as string | null;
        texts.set(scorerName(scorer ?? ''), members.get('output')!);
      }
    return texts;
  }

  /**
   * Sums up the trials that have ended, and ends the run with the summary.
   */
  async finishRun(project: string, id: string, context: Context): Promise<void> {
    const { text, caller } = context;
    const given = memberText(text, 'summary');
    const run = await this.call(project, id, 'runs');
    const output = json(await this.summary(project, id, context));
    const op = await this.objects.placeholderOp(project, 'Evaluation.summarize', caller);
    const place = { trace_id: run.call.trace_id!, parent_id: id };
    const call = started(project, uuidv5(id, SUMMARY_NAMESPACE), op, place);
    await this.store(caller, {
      call: { ...call, ended_at: call.started_at },
      documents: {
        attributes: '{}',
        inputs: `{"self":${memberText(run.documents.inputs, 'self')}}`,
        output,
      },
    });
    const summary: [string, string][] =
      given === 'null' ? repeatedSummary(run) : [['summary', given]];
    const end = { project_id: project, id, ended_at: now() };
    await this.end(end, [['output', output], ...summary], context);
  }

  private async summary(project: string, runId: string, { hold }: Context): Promise<object> {
    const scores = new ScoreSummaries();
    const [output, latency] = [new AutoSummary(), new AutoSummary()];
    const documents = new DocumentReader(hold);
    const batches = await this.database.stream(trialOutputs(project, runId));
    for await (const batch of batches as AsyncIterable<string[]>)
      for (const text of batch) {
        const said = await documents.read<Record<string, unknown> | null>(text);
        scores.add(said?.['scores']);
        output.add(said?.['output']);
        const seconds = said?.['model_latency'] as { mean?: unknown } | number | null | undefined;
        latency.add(typeof seconds === 'number' ? seconds : seconds?.mean);
      }
    const [outputs, latencies] = [output.take(), latency.take()];
    return {
      ...scores.take(),
      ...(outputs && { output: outputs }),
      ...(latencies && { model_latency: latencies }),
    };
  }

  list(
    project: string,
    kind: 'predictions' | 'scores',
    page: RunsPage & { evaluation_run_id?: string | null },
  ) {
    const runId = page.evaluation_run_id ?? null;
    return this.stream(KINDS[kind](project, { ...page, runId, source: this.source }));
  }

  listRuns(project: string, query: RunsQueryDto): Promise<Readable> {
    const { evaluations, models, evaluation_run_ids, limit = null, offset = null } = query;
    const list = (texts: string | string[] | null | undefined) =>
      texts === null || texts === undefined ? {} : [texts].flat();
    const asked = Object.entries({ evaluations, models, ids: evaluation_run_ids })
      .filter(([, texts]) => texts !== null && texts !== undefined)
      .map(([name, texts]) => [name, list(texts)]);
    return this.stream(runsQuery(project, { ...Object.fromEntries(asked), limit, offset }));
  }

  private get source(): string {
    return this.objects.placeholderSource;
  }

  private stream(query: Sql): Promise<Readable> {
    return this.database.stream(query, { maxBatch: 64 });
  }

  /**
   * Reads a run, a prediction or a score as JSON text.
   * @throws ApiError `not_found`
   */
  async read(project: string, kind: RecordKind, id: string): Promise<string> {
    const rows = await this.stream(
      KINDS[kind](project, { ids: [id], limit: 1, source: this.source }),
    );
    const [batch] = (await rows.toArray()) as string[][];
    if (!batch?.[0])
      throw new ApiError('not_found', `there is no ${NOUNS[kind]} ${id} in the project`);
    return batch[0];
  }

  async delete(
    project_id: string,
    kind: RecordKind,
    ids: string | string[],
    caller: Caller,
  ): Promise<DeletedDto> {
    const rows = await this.stream(
      KINDS[kind](project_id, { ids: [ids].flat(), source: this.source }),
    );
    const call_ids: string[] = [];
    for await (const batch of rows as AsyncIterable<string[]>)
      for (const text of batch) call_ids.push(JSON.parse([...memberTexts(text).values()][0]!));
    return call_ids.length === 0
      ? { num_deleted: 0 }
      : this.calls.delete({ project_id, call_ids }, caller);
  }

  /**
   * Reads the call of a run, a prediction or a score, with its documents.
   * @throws ApiError `not_found`
   */
  private async call(project: string, id: string, kind: RecordKind): Promise<StoredCall> {
    await this.read(project, kind, id);
    const [call] = await this.calls.stored(project, [id]);
    if (!call) throw new ApiError('not_found', `there is no ${NOUNS[kind]} ${id} in the project`);
    return call;
  }

  private async store(caller: Caller, ...calls: WholeCall[]): Promise<void> {
    for (const answer of await this.calls.storeCalls(calls, caller))
      if ('error' in answer) throw new ApiError(answer.error.code, answer.error.detail);
  }

  private async end(
    end: { project_id: string; id: string; ended_at: string },
    documents: Iterable<[string, string]>,
    { hold, caller }: Context,
  ): Promise<void> {
    const named = Object.entries(end).map(([name, value]): [string, string] => [name, json(value)]);
    const text = objectText([...named, ...documents]);
    const [body] = await new DocumentReader(hold).keep<CallEnd>([text]);
    return this.calls.end(body!, `{"end":${text}}`, caller);
  }
}

/** Returns the stored summary. An end must repeat it, since the summary of an end replaces the stored one. */
const repeatedSummary = ({ documents: { summary } }: StoredCall): [string, string][] =>
  summary ? [['summary', summary]] : [];

const now = () => new Date().toISOString();

const started = (
  project_id: string,
  id: string,
  op_name: string,
  place: { trace_id: string; parent_id?: string },
) => ({ project_id, id, op_name, started_at: now(), ...place });

/** Returns the text of a member of a JSON object, or `null` when it is absent. */
const memberText = (object: string | null | undefined, name: string): string =>
  (object?.startsWith('{') && memberTexts(object).get(name)) || 'null';

const modelName = (ref: string) => parseRef(ref)?.name ?? 'Model';

/** Returns the name of a scorer in the `scores` of a trial. */
const scorerName = (scorer: string) => parseRef(scorer)?.name ?? scorer;
