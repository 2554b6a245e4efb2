import { Readable } from 'node:stream';
import { setImmediate as breath } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { isProjectId } from '../../platform/http/dto.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { parseRef, SCHEME } from '../../platform/http/refs.js';
import { Database } from '../../platform/database/database.js';
import { type PathStep, textsAt } from '../../platform/json/json-paths.js';
import { deletedQuery, referredQuery, valuesQuery } from './objects.query.js';
import { isRowDigest } from './tables/row-digests.js';
import { resolveAliases } from './labels/alias-resolution.js';
import { rowQuery } from './tables/tables.query.js';

/** Bytes of values that one fetch reads together. */
const FETCHED_BYTES = 4 * 1024 * 1024;
const ANSWERED_BYTES = 256 * 1024;

interface RefSegment {
  /**
   * The digest of the row at which the path begins, in the table that the previous segment leads to. Null for the first
   * segment, which begins at the version.
   */
  row: string | null;
  path: PathStep[];
}

interface RefTarget {
  projectId: string;
  objectId: string;
  /** The word that selects the version. */
  word: string;
  legs: RefSegment[];
  /** Null for a deleted version. */
  version: { index: number; sizeBytes: number } | null;
}

@Injectable()
export class RefsService {
  constructor(private readonly database: Database) {}

  /**
   * Streams JSON texts in the order of the refs, in batches. Everything that can be refused is refused before the first
   * batch. Then values are fetched while the answer is sent, so that memory holds a few MiB or one value.
   * @throws ApiError `invalid_request`, `forbidden`, `not_found`
   */
  async stream(refs: readonly string[], caller: Caller): Promise<Readable> {
    const targets = refs.map((ref, i) => refTarget(ref, `refs[${i}]`));
    for (const { projectId } of targets) caller.assertReaches(projectId);
    for (const projectId of new Set(targets.map((target) => target.projectId)))
      await this.resolve(
        projectId,
        targets.filter((target) => target.projectId === projectId),
      );
    return Readable.from(this.values(targets, caller, this.database.scope.owner), {
      highWaterMark: 1,
    });
  }

  private async resolve(projectId: string, targets: RefTarget[]): Promise<void> {
    const names = targets.map(({ objectId }) => objectId);
    const words = targets.map(({ word }) => word);
    const spelled = await resolveAliases(this.database, projectId, names, words);
    for (const [i, target] of targets.entries()) target.word = spelled[i]!;
    const live = await this.database.query(referredQuery(projectId, ...columns(targets)));
    const versions = new Map(live.map((row) => [`${row.object_id}:${row.word}`, row]));
    const others: RefTarget[] = [];
    for (const target of targets) {
      const row = versions.get(targetName(target));
      if (row) target.version = { index: row.version_index, sizeBytes: row.size_bytes };
      else others.push(target);
    }
    if (others.length === 0) return;
    const rows = await this.database.query(deletedQuery(projectId, ...columns(others)));
    const deleted = new Set(rows.map(({ object_id, word }) => `${object_id}:${word}`));
    const missing = others.find((target) => !deleted.has(targetName(target)));
    if (missing)
      throw new ApiError('not_found', `there is no object ${targetName(missing)} in ${projectId}`);
  }

  private async *values(
    targets: readonly RefTarget[],
    caller: Caller,
    owner: string,
  ): AsyncGenerator<string[]> {
    const { database } = this;
    for (const group of groupTargets(targets)) {
      // values are read in the context of the connection
      const found = await database.transaction({ owner, long: 'read' }, () => this.fetch(group));
      let batch: string[] = [];
      let bytes = 0;
      for (const target of group) {
        const text = (await this.beyond(target, found.get(target), caller)) ?? 'null';
        batch.push(text);
        bytes += text.length;
        if (bytes < ANSWERED_BYTES) continue;
        yield batch;
        await breath();
        batch = [];
        bytes = 0;
      }
      if (batch.length > 0) yield batch;
    }
  }

  /** Reads the value at the first segment of each target. All targets belong to one project. */
  private async fetch(group: readonly RefTarget[]): Promise<Map<RefTarget, string | undefined>> {
    const found = new Map<RefTarget, string | undefined>();
    const byVersion = new Map<string, RefTarget[]>();
    for (const target of group) {
      if (!target.version) continue;
      const targets = byVersion.get(versionKey(target));
      if (targets) targets.push(target);
      else byVersion.set(versionKey(target), [target]);
    }
    if (byVersion.size === 0) return found;
    const distinct = [...byVersion.values()].map(([target]) => target!);
    const rows = await this.database.query(
      valuesQuery(
        group[0]!.projectId,
        distinct.map(({ objectId }) => objectId),
        distinct.map(({ version }) => version!.index),
      ),
    );
    for (const { object_id, version_index, val } of rows) {
      const targets = byVersion.get(`${object_id}:v${version_index}`)!;
      const texts = textsAt(
        val,
        targets.map(({ legs }) => legs[0]!.path),
      );
      for (const [i, target] of targets.entries()) found.set(target, texts[i]);
      await breath(); // a value may have many MiB
    }
    return found;
  }

  /**
   * Follows the further segments from the value of the first. Undefined when a segment leads nowhere, or into a table
   * that the caller may not read.
   */
  private async beyond(
    { legs }: RefTarget,
    from: string | undefined,
    caller: Caller,
  ): Promise<string | undefined> {
    let text = from;
    for (const { row, path } of legs.slice(1)) {
      const val = text && (await this.row(text, row!, caller));
      if (!val) return undefined;
      [text] = textsAt(val, [path]);
    }
    return text;
  }

  /** Reads a row of the table that a value refers to. */
  private async row(text: string, digest: string, caller: Caller): Promise<string | undefined> {
    const projectId = text.startsWith('"') ? TABLE_REF.exec(JSON.parse(text))?.[1] : undefined;
    if (!isProjectId(projectId) || !caller.reaches(projectId) || !isRowDigest(digest))
      return undefined;
    const [row] = await this.database.query(rowQuery(projectId, digest));
    return row?.val;
  }
}

const TABLE_REF = new RegExp(`^${SCHEME}:///([^/]+/[^/]+)/table/[^/]+$`);

function refTarget(ref: string, path: string): RefTarget {
  const parsed = parseRef(ref);
  if (!parsed || parsed.digest === null)
    throw invalidRequest([{ path, message: `must be an object or op ref: ${SHAPE}` }]);
  const { projectId, name, digest } = parsed;
  return {
    projectId,
    objectId: name,
    word: digest,
    legs: refSegments(parsed.path, path),
    version: null,
  };
}

const SHAPE = 'svc:///<entity>/<project>/object/<name>:<digest>';

function refSegments(parts: readonly string[], path: string): RefSegment[] {
  const legs: RefSegment[] = [{ row: null, path: [] }];
  for (let i = 0; i < parts.length; i += 2) {
    const [edge, part] = parts.slice(i, i + 2);
    const word = part === undefined ? '' : unquoted(part);
    const leg = legs.at(-1)!;
    if (part !== undefined && (edge === 'attr' || edge === 'key')) leg.path.push(word);
    else if (edge === 'index' && /^\d{1,9}$/.test(part ?? '')) leg.path.push(Number(word));
    else if (part !== undefined && edge === 'id') legs.push({ row: word, path: [] });
    else throw invalidRequest([{ path, message: PAIRS }]);
  }
  return legs;
}

const PAIRS = 'must continue with pairs attr/<key>, key/<key>, index/<n> or id/<row digest>';

/** Decodes a key. Some clients percent-encode keys, others do not. */
function unquoted(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

const targetName = ({ objectId, word }: RefTarget) => `${objectId}:${word}`;
const versionKey = ({ objectId, version }: RefTarget) => `${objectId}:v${version!.index}`;

const columns = (targets: readonly RefTarget[]): [names: string[], words: string[]] => {
  const distinct = [...new Map(targets.map((target) => [targetName(target), target])).values()];
  return [distinct.map(({ objectId }) => objectId), distinct.map(({ word }) => word)];
};

/** Groups neighbours of one project. A group accepts further values until its values have `FETCHED_BYTES` together. */
function* groupTargets(targets: readonly RefTarget[]): Generator<RefTarget[]> {
  let group: RefTarget[] = [];
  let sizes = new Map<string, number>();
  for (const target of targets) {
    const key = target.version ? versionKey(target) : '';
    const isFull = !sizes.has(key) && sum(sizes.values()) >= FETCHED_BYTES;
    if (group.length > 0 && (isFull || target.projectId !== group[0]!.projectId)) {
      yield group;
      group = [];
      sizes = new Map();
    }
    group.push(target);
    sizes.set(key, target.version?.sizeBytes ?? 0);
  }
  if (group.length > 0) yield group;
}

const sum = (numbers: Iterable<number>) => [...numbers].reduce((a, b) => a + b, 0);
