import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { Database } from '../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { refTo, SCHEME } from '../../platform/http/refs.js';
import { memberTexts, objectText } from '../../platform/json/json-text.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { ObjectsService } from '../objects/objects.service.js';
import { newRows, TablesService } from '../objects/tables/tables.service.js';
import { type DatasetRow, CallRowsService } from './call-rows.service.js';
import {
  type DatasetAddDto,
  type DatasetAddedDto,
  type DatasetLineageQueryDto,
  type DatasetRemovedDto,
  type DatasetRemoveDto,
  type DatasetSplitAnswerDto,
  type DatasetSplitDto,
  MAX_DATASET_ROWS,
} from './datasets.dto.js';
import {
  callsById,
  groupsQuery,
  lineageQuery,
  sourceInsertLock,
  sourcesCopy,
  sourcesInsert,
  sourcesRemove,
  valuesAt,
} from './datasets.query.js';
import { DIGEST_LENGTH } from './imports.query.js';
import { nameBudget, pathSteps } from '../../platform/query/columns.js';
import { partIndex, rowUnits } from './dataset-split.js';

/** Bytes of a dataset's value, which refers to its rows. */
const MAX_VALUE_BYTES = 256 * 1024;
const TABLE_REF = new RegExp(`^${SCHEME}:///([^/]+/[^/]+)/table/([^/]+)$`);
/** Tolerance of the sum of fractions. */
const ROUNDING = 1e-6;

/** A version of a dataset: the members of its value as texts, and its joined row digests. */
interface DatasetVersion {
  members: Map<string, string>;
  rows: Buffer;
}

/** A version of a dataset without its rows, which are in a table. */
interface DatasetTable {
  members: Map<string, string>;
  table: string | null;
  num_rows: number;
}

interface PublishedVersion {
  object_id: string;
  digest: string;
  version_index: number;
  ref: string;
  num_rows: number;
}

interface NewDatasetVersion extends DatasetVersion {
  projectId: string;
  objectId: string;
}

type NewRows = Awaited<ReturnType<typeof newRows>>;

/**
 * Builds datasets, as SDKs publish them, from calls. Removes rows, splits datasets, and records the sources of rows.
 */
@Injectable()
export class DatasetsService {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectsService,
    private readonly tables: TablesService,
    private readonly callRows: CallRowsService,
  ) {}

  /**
   * Adds rows that are new to the dataset, in a new version.
   * @throws ApiError
   */
  async add(body: DatasetAddDto, caller: Caller): Promise<DatasetAddedDto> {
    const { project_id: projectId, object_id: objectId } = body;
    const made = await this.callRows.make(body);
    const texts = made.rows.map(({ text }) => text);
    const rows = await newRows(texts, caller);
    return this.objects.alone(projectId, objectId, async () => {
      await caller.assertValid();
      await this.database.query(sourceInsertLock(projectId));
      const { calls, rows: left } = await this.withoutGone(projectId, made.rows, rows);
      const found = await this.find(projectId, objectId, 'latest');
      if (!found && left.length === 0)
        throw invalidRequest([
          { path: 'object_id', message: 'is not a dataset, and none of the calls exists' },
        ]);
      const version = found ?? newVersion(objectId, body.description);
      const fresh = await withoutKnown(left, version.rows);
      const digests = Buffer.from(fresh.map(({ digest }) => digest).join(''), 'latin1');
      const grown = {
        projectId,
        objectId,
        ...version,
        rows: Buffer.concat([version.rows, digests]),
      };
      const published = await this.publish(grown, fresh, caller);
      const sources = calls.map((call, i) => ({ ...call, rowDigest: left[i]!.digest }));
      const { userName } = caller;
      await this.database.query(sourcesInsert(projectId, objectId, { sources, userName }));
      const missing = made.missing + rows.length - left.length;
      return { ...published, added: fresh.length, duplicates: left.length - fresh.length, missing };
    });
  }

  /**
   * Removes rows, in a new version.
   * @throws ApiError
   */
  remove(body: DatasetRemoveDto, caller: Caller): Promise<DatasetRemovedDto> {
    const { project_id: projectId, object_id: objectId } = body;
    const wanted = new Set(body.row_digests);
    return this.objects.alone(projectId, objectId, async () => {
      await caller.assertValid();
      await this.database.query(sourceInsertLock(projectId));
      const version = await this.findOrRefuse(projectId, objectId, 'latest');
      const gone = new Set<string>();
      const kept: string[] = [];
      for await (const digest of digestsIn(version.rows))
        if (wanted.has(digest)) gone.add(digest);
        else kept.push(digest);
      const rows = Buffer.from(kept.join(''), 'latin1');
      const published = await this.publish({ projectId, objectId, ...version, rows }, [], caller);
      await this.database.query(sourcesRemove(projectId, objectId, [...wanted]));
      const removed = (version.rows.length - rows.length) / DIGEST_LENGTH;
      return { ...published, removed, missing: wanted.size - gone.size };
    });
  }

  /**
   * Publishes each part of a dataset as a dataset, or as a new version of one.
   * @throws ApiError
   */
  async split(body: DatasetSplitDto, caller: Caller): Promise<DatasetSplitAnswerDto> {
    assertParts(body);
    const { project_id: projectId, object_id: objectId, seed } = body;
    const version = await this.findOrRefuse(projectId, objectId, body.digest ?? 'latest');
    const digests: string[] = [];
    for await (const digest of digestsIn(version.rows)) digests.push(digest);
    const units = rowUnits(digests, await this.groups(body, digests));
    const fractions = body.parts.map(({ fraction }) => fraction);
    const parts = body.parts.map((): string[] => []);
    const turn = new EventLoopTurn();
    for (const [i, unit] of units.entries()) {
      parts[partIndex(unit, seed ?? '', fractions)]!.push(digests[i]!);
      if (turn.isOver) await turn.next();
    }
    assertNoneEmpty(parts);
    const made = new Map<string, PublishedVersion>();
    const names = body.parts.map(({ object_id }) => object_id);
    // ordered by name, so that two splits with common names wait for each other
    const sorted = names.map((to, i) => ({ to, rows: parts[i]! })).toSorted(byName);
    const publishFrom = (at: number): Promise<void> => {
      const part = sorted[at];
      if (!part) return this.copySources(projectId, objectId, sorted);
      return this.objects.alone(projectId, part.to, async () => {
        const { members } = await this.latest(projectId, part.to, `Part of ${objectId}`);
        const rows = Buffer.from(part.rows.join(''), 'latin1');
        const whole = { projectId, objectId: part.to, members, rows };
        made.set(part.to, await this.publish(whole, [], caller));
        await publishFrom(at + 1);
      });
    };
    await publishFrom(0);
    return { parts: names.map((name) => made.get(name)!) };
  }

  lineage(query: DatasetLineageQueryDto): Promise<Readable> {
    return this.database.stream(lineageQuery(query));
  }

  private async groups(
    { project_id, object_id, group_by, group_path }: DatasetSplitDto,
    digests: string[],
  ) {
    if (group_path) {
      const path = pathSteps(group_path, 'group_path', nameBudget());
      return this.database.query(valuesAt(project_id, digests, path), { long: 'read' });
    }
    if (!group_by || group_by === 'row') return [];
    return this.database.query(groupsQuery(project_id, object_id, group_by), { long: 'read' });
  }

  /** Copies the sources of rows to the parts. Rows that a part had before are marked as removed. */
  private async copySources(
    projectId: string,
    from: string,
    parts: readonly { to: string; rows: readonly string[] }[],
  ): Promise<void> {
    await this.database.query(sourceInsertLock(projectId));
    for (const { to, rows } of parts) {
      await this.database.query(sourcesRemove(projectId, to, null));
      await this.database.query(sourcesCopy(projectId, { from, to, digests: rows }));
    }
  }

  private async withoutGone(projectId: string, calls: readonly DatasetRow[], rows: NewRows) {
    const ids = calls.map(({ id }) => id);
    const there = new Set(
      (await this.database.query(callsById(projectId, ids))).map(({ id }) => id),
    );
    return {
      calls: calls.filter(({ id }) => there.has(id)),
      rows: rows.filter((_, i) => there.has(ids[i]!)),
    };
  }

  private async publish(
    { projectId, objectId, members, rows }: NewDatasetVersion,
    fresh: NewRows,
    caller: Caller,
  ): Promise<PublishedVersion> {
    const num_rows = rows.length / DIGEST_LENGTH;
    assertChangeable('would have', num_rows);
    const table = await this.tables.store(projectId, rows, fresh);
    return this.publishTable({ projectId, objectId, members, table, num_rows }, caller);
  }

  /** Publishes a version of a dataset with the rows of a stored table. */
  async publishTable(
    {
      projectId,
      objectId,
      members,
      table,
      num_rows,
    }: DatasetTable & { projectId: string; objectId: string },
    caller: Caller,
  ): Promise<PublishedVersion> {
    const ref = JSON.stringify(refTo(projectId, `table/${table}`));
    const text = objectText(new Map([...members, ['rows', ref]]));
    const obj = { project_id: projectId, object_id: objectId, val: JSON.parse(text) as unknown };
    const { digest, version_index } = await this.objects.create(obj, text, caller);
    return {
      object_id: objectId,
      digest,
      version_index,
      ref: refTo(projectId, `object/${objectId}:${digest}`),
      num_rows,
    };
  }

  private async findOrRefuse(
    projectId: string,
    objectId: string,
    word: string,
  ): Promise<DatasetVersion> {
    const found = await this.find(projectId, objectId, word);
    if (!found) throw new ApiError('not_found', `there is no dataset ${objectId}:${word}`);
    return found;
  }

  /**
   * Reads a version of a dataset. Undefined when the object does not exist.
   * @throws ApiError `invalid_request` when the object is no dataset
   */
  private async find(
    projectId: string,
    objectId: string,
    word: string,
  ): Promise<DatasetVersion | undefined> {
    const found = await this.value(projectId, objectId, word);
    if (!found) return undefined;
    const { table, members } = found;
    assertChangeable('has', await this.count(projectId, table));
    const rows = await this.tables.rowDigests(projectId, table);
    if (rows) return { members, rows };
    throw notADataset();
  }

  /**
   * Reads the latest version of a dataset without its rows. For a dataset that does not exist, its table is null.
   * @throws ApiError `invalid_request` when the object is no dataset
   */
  async latest(
    projectId: string,
    objectId: string,
    description?: string | null,
  ): Promise<DatasetTable> {
    const found = await this.value(projectId, objectId, 'latest');
    const { members, table } = found ?? { ...newVersion(objectId, description), table: null };
    return { members, table, num_rows: table === null ? 0 : await this.count(projectId, table) };
  }

  private async count(project_id: string, digest: string): Promise<number> {
    return (await this.tables.stats({ project_id, digest })).count;
  }

  /**
   * Returns the digest of the table with the rows of the latest version. Undefined when the object does not exist.
   * @throws ApiError `invalid_request` when the object is no dataset
   */
  async latestTable(projectId: string, objectId: string): Promise<string | undefined> {
    return (await this.value(projectId, objectId, 'latest'))?.table;
  }

  private async value(projectId: string, objectId: string, word: string) {
    const version = { project_id: projectId, object_id: objectId, digest: word };
    const val = await this.objects.valueUpTo(version, MAX_VALUE_BYTES);
    if (val === undefined) return undefined;
    const members = val?.startsWith('{') ? memberTexts(val) : new Map<string, string>();
    const table = TABLE_REF.exec(textIn(members, 'rows'));
    const isDataset = textIn(members, '_class_name') === 'Dataset' && table?.[1] === projectId;
    if (!isDataset) throw notADataset();
    return { members, table: table[2]! };
  }
}

const notADataset = () =>
  invalidRequest([
    { path: 'object_id', message: 'must be a dataset whose rows are a table of the project' },
  ]);

const byName = (a: { to: string }, b: { to: string }) => (a.to < b.to ? -1 : 1);

function textIn(members: ReadonlyMap<string, string>, name: string): string {
  const text = members.get(name);
  return text?.startsWith('"') ? (JSON.parse(text) as string) : '';
}

/** Returns the value of a dataset without rows, as SDKs publish it. */
const newVersion = (name: string, description?: string | null): DatasetVersion => ({
  members: new Map([
    ['_type', '"Dataset"'],
    ['name', JSON.stringify(name)],
    ['description', JSON.stringify(description ?? null)],
    ['rows', '""'],
    ['_class_name', '"Dataset"'],
    ['_bases', '["Object","BaseModel"]'],
  ]),
  rows: Buffer.alloc(0),
});

function assertChangeable(word: string, rows: number): void {
  if (rows > MAX_DATASET_ROWS)
    throw new ApiError(
      'too_large',
      `the dataset ${word} ${rows} rows, over the limit of ${MAX_DATASET_ROWS}: only imports make larger ones`,
    );
}

/** Yields the digests of a table, and pauses for other requests. */
async function* digestsIn(rows: Buffer): AsyncGenerator<string> {
  const turn = new EventLoopTurn();
  for (let at = 0; at < rows.length; at += DIGEST_LENGTH) {
    yield rows.toString('latin1', at, at + DIGEST_LENGTH);
    if (turn.isOver) await turn.next();
  }
}

/** Returns the rows that are not in the table, each once. */
async function withoutKnown(rows: NewRows, table: Buffer): Promise<NewRows> {
  const fresh = new Map(rows.toReversed().map((row) => [row.digest, row]));
  for await (const digest of digestsIn(table)) fresh.delete(digest);
  return rows.filter((row) => fresh.get(row.digest) === row);
}

function assertParts({ object_id, parts, group_by, group_path }: DatasetSplitDto): void {
  const names = parts.map((part) => part.object_id);
  if (new Set([object_id, ...names]).size <= names.length)
    throw invalidRequest([{ path: 'parts', message: 'must have names of their own' }]);
  const sum = parts.reduce((all, { fraction }) => all + fraction, 0);
  if (Math.abs(sum - 1) > ROUNDING)
    throw invalidRequest([{ path: 'parts', message: 'must have fractions that are 1 together' }]);
  if (group_by && group_path)
    throw invalidRequest([{ path: 'group_path', message: 'must not be given with group_by' }]);
}

/** @throws ApiError `invalid_request` */
function assertNoneEmpty(parts: readonly string[][]): void {
  const empty = parts.findIndex((rows) => rows.length === 0);
  if (empty < 0) return;
  const message =
    'would have no rows: the dataset has too few rows or groups, or needs another seed';
  throw invalidRequest([{ path: `parts[${empty}]`, message }]);
}
