import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { ApiError } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import type { Context } from '../../platform/http/context.js';
import { DocumentReader } from '../../platform/http/document-reader.js';
import { printDecimals } from '../../platform/json/decimal.js';
import { memberTexts } from '../../platform/json/json-text.js';
import type { EvalResultsQueryDto } from './eval-results.dto.js';
import {
  datasetRowsQuery,
  detailsQuery,
  type EvaluationRoot,
  progressQuery,
  rootsQuery,
} from './eval-results.query.js';
import { ROW_PATH } from './trial-parts.query.js';
import { type TrialScan, scanQuery } from './trial-scan.query.js';
import { summarize } from './evaluation-summaries.js';
import { filteredRows, sortedRows } from './row-order.js';
import { filterGroups, isOfScore, rowSorts } from './row-requests.js';
import { rowText, type RowOptions } from './row-texts.js';
import { rowsInAll, TrialReader, type TrialRow, TrialRows, trialTooLarge } from './trials.js';

/** Trials that the evaluations of a request may have together. */
export const MAX_TRIALS = 100_000;
/** Trials whose outputs are read at the same time. */
const DETAILS_AT_ONCE = 64;
/** Characters that the details of `DETAILS_AT_ONCE` trials may have together. */
export const MAX_ROW_BYTES = 64 * 1024 * 1024;

/** A page of `/eval_results/query`: its rows as JSON texts, and the members that follow them in the answer. */
export interface ResultsPage {
  rows: Readable;
  members: () => string;
}

type ScanOptions = Omit<TrialScan, 'projectId' | 'rootIds' | 'limit'>;

/**
 * Computes results from the stored calls. One pass reads scores, digests and usage of all trials, without outputs.
 * Everything else is read for the rows of the page only.
 */
@Injectable()
export class EvalResultsService {
  constructor(private readonly database: Database) {}

  /** Returns the existing evaluation calls among `ids`, keyed by id. */
  async roots(projectId: string, ids: readonly string[]): Promise<Map<string, EvaluationRoot>> {
    if (ids.length === 0) return new Map();
    const rows = await this.database.query(rootsQuery(projectId, ids), { long: 'read' });
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Counts the trials of an evaluation, and those that have ended. Counts up to `MAX_TRIALS`. */
  async progress(projectId: string, id: string): Promise<{ ended: number; all: number }> {
    const [progress] = await this.database.query(progressQuery(projectId, id, MAX_TRIALS));
    return progress!;
  }

  async query(
    projectId: string,
    query: EvalResultsQueryDto,
    context: Context,
  ): Promise<ResultsPage> {
    const { evaluation_call_ids, evaluation_run_ids } = query;
    const ids = [...new Set([...(evaluation_call_ids ?? []), ...(evaluation_run_ids ?? [])])];
    const { sorts, fields } = rowSorts(query, ids.length > 1);
    const { groups, conditions } = filterGroups(query);
    const hasChildren = query.include_predict_and_score_children !== false;
    const hasCosts = query.include_costs === true;
    const hasSummary = query.include_summary === true;
    const asked: ScanOptions = {
      hasScores: hasSummary || conditions.length > 0 || sorts.some(isOfScore),
      hasChildren,
      hasUsage: hasSummary && hasChildren,
      hasCosts,
      isCompared: false,
      conditions,
      fields,
    };
    const roots = await this.roots(projectId, ids);
    const known = ids.filter((id) => roots.has(id));
    const all = await this.scan(projectId, known, asked, context);
    const selected = query.require_intersection ? rowsInAll(all, ids) : all;
    const found = await filteredRows(selected, groups, query.filter_logic_operator === 'and');
    const page =
      query.include_rows === false ? [] : pageRows(await sortedRows(found, sorts), query);
    const summary = hasSummary
      ? await summarize(summaryRows(all, ids, query), known, roots)
      : undefined;
    const warnings = ids
      .filter((id) => !roots.has(id))
      .map((id) => `there is no evaluation call ${id}`);
    const documents = new DocumentReader(context.hold);
    const shown = { projectId, ids: known, query, hasChildren, hasCosts, documents };
    return {
      rows: Readable.from(this.rows(page, shown, warnings, this.database.scope.owner), {
        highWaterMark: 1,
      }),
      members: () =>
        [
          `"total_rows":${found.length}`,
          ...(summary ? [`"summary":${printDecimals(summary)}`] : []),
          `"warnings":${JSON.stringify(warnings)}`,
        ].join(','),
    };
  }

  /**
   * Reads the rows of evaluations, ordered by digest.
   * @throws ApiError `too_large`
   */
  async scan(
    projectId: string,
    rootIds: readonly string[],
    asked: ScanOptions,
    { hold }: Context,
  ): Promise<TrialRow[]> {
    const scan = { projectId, rootIds, ...asked, limit: MAX_TRIALS + 1 };
    const batches = await this.database.stream(scanQuery(scan));
    const rows = new TrialRows();
    const reader = new TrialReader(rows, new DocumentReader(hold), asked);
    for await (const batch of batches as AsyncIterable<string[]>)
      for (const text of batch) {
        await reader.read(text);
        if (rows.trials > MAX_TRIALS)
          throw new ApiError(
            'too_large',
            `the evaluations have over ${MAX_TRIALS} trials: ask for fewer evaluations`,
          );
      }
    return rows.take();
  }

  private async *rows(
    page: readonly TrialRow[],
    shown: PageOptions,
    warnings: string[],
    owner: string,
  ): AsyncGenerator<string[]> {
    const { query } = shown;
    let isUnresolved = false;
    for (const group of rowGroups(page)) {
      const { details, raws } = await this.database.scope.run({ owner: () => owner }, async () => {
        const details = await this.details(group, shown);
        return { details, raws: await this.rawRows(group, shown, details) };
      });
      const texts: string[] = [];
      for (const row of group) {
        const raw = raws?.get(row.digest);
        if (raws && query.resolve_row_refs && raw?.isRef) isUnresolved = true;
        texts.push(await rowText(row, shown, details, raws && (raw?.text ?? 'null')));
      }
      yield texts;
    }
    if (isUnresolved)
      warnings.push('some raw_data_row could not be resolved: they are the refs that were stored');
  }

  private async details(
    group: readonly TrialRow[],
    { projectId, hasChildren, hasCosts, query, documents }: PageOptions,
  ): Promise<Map<string, string>> {
    const trialIds = group.flatMap(({ trials }) => [...trials.values()].flat().map(({ id }) => id));
    const hasRaw = query.include_raw_data_rows === true;
    const asked = { projectId, trialIds, hasChildren, hasCosts, hasRaw };
    const details = new Map<string, string>();
    let bytes = 0;
    const batches = await this.database.stream(detailsQuery(asked), { maxBatch: DETAILS_AT_ONCE });
    for await (const batch of batches as AsyncIterable<string[]>)
      for (const text of batch) {
        bytes += text.length;
        if (bytes > MAX_ROW_BYTES)
          throw new ApiError(
            'too_large',
            `the trials of a row hold over ${MAX_ROW_BYTES} characters: ask for fewer evaluations`,
          );
        await documents.pass(2 * bytes);
        const members = memberTexts(text);
        const id = JSON.parse(members.get('id')!) as string;
        if (members.get('children') === 'true') throw trialTooLarge(id);
        details.set(id, text);
      }
    return details;
  }

  /** Returns the inputs of rows, keyed by digest: the example, or the dataset row that the example refers to. */
  private async rawRows(
    group: readonly TrialRow[],
    { projectId, query }: PageOptions,
    details: ReadonlyMap<string, string>,
  ): Promise<Map<string, { text: string; isRef: boolean }> | null> {
    if (!query.include_raw_data_rows) return null;
    const raws = new Map<string, { text: string; isRef: boolean }>();
    for (const { digest, trials } of group)
      for (const trial of [...trials.values()].flat()) {
        const text = memberTexts(details.get(trial.id) ?? '{}').get('raw');
        if (text === undefined || text === 'null') continue;
        raws.set(digest, { text, isRef: text.startsWith('"') && text.includes(ROW_PATH) });
        break;
      }
    const refs = [...raws].filter(([, { isRef }]) => isRef).map(([digest]) => digest);
    if (!query.resolve_row_refs || refs.length === 0) return raws;
    for (const { digest, val } of await this.database.query(datasetRowsQuery(projectId, refs)))
      raws.set(digest, { text: val, isRef: false });
    return raws;
  }
}

interface PageOptions extends RowOptions {
  projectId: string;
  query: EvalResultsQueryDto;
}

const pageRows = (rows: readonly TrialRow[], { limit, offset }: EvalResultsQueryDto) =>
  rows.slice(offset ?? 0, (offset ?? 0) + (limit ?? rows.length));

/** Selects the rows of the summary. Filters do not affect it. */
const summaryRows = (
  rows: readonly TrialRow[],
  ids: readonly string[],
  { summary_require_intersection, require_intersection }: EvalResultsQueryDto,
) => ((summary_require_intersection ?? require_intersection) ? rowsInAll(rows, ids) : rows);

function* rowGroups(rows: readonly TrialRow[]): Generator<TrialRow[]> {
  let group: TrialRow[] = [];
  let trials = 0;
  for (const row of rows) {
    group.push(row);
    for (const list of row.trials.values()) trials += list.length;
    if (trials < DETAILS_AT_ONCE) continue;
    yield group;
    [group, trials] = [[], 0];
  }
  if (group.length > 0) yield group;
}
