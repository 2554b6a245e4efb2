import { Readable } from 'node:stream';
import { setImmediate as breath } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { isProjectId } from '../../platform/http/dto.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { parseRef } from '../../platform/http/refs.js';
import { WIRE } from '../../platform/http/wire.js';
import { Database } from '../../platform/database/database.js';
import { JsonNode } from './json-node.js';
import { deletedQuery, referredQuery, valuesQuery } from './objects.query.js';
import { isRowDigest } from './row-digests.js';
import { spelledOut } from './spelled-out.js';
import { rowQuery } from './tables.query.js';

/** Values are fetched for as many refs as have about this size together. */
const FETCHED_BYTES = 4 * 1024 * 1024;
const ANSWERED_BYTES = 256 * 1024;

const EDGES = ['attr', 'key', 'index', 'id'] as const;

interface Step {
  edge: (typeof EDGES)[number];
  word: string;
}

interface Target {
  projectId: string;
  objectId: string;
  /** What stands for the version. */
  word: string;
  steps: Step[];
  /** Null for a deleted version. */
  version: { index: number; sizeBytes: number } | null;
}

/** Reads values by refs, and parts of values by refs that go on into them. */
@Injectable()
export class RefsService {
  constructor(private readonly database: Database) {}

  /**
   * JSON texts in the order of the refs, in batches. All that can be refused is refused before the first one; then values
   * are fetched as the answer goes out, so that memory holds a few MiB or one value.
   * @throws ApiError `invalid_request`, `forbidden`, `not_found`
   */
  async stream(refs: readonly string[], caller: Caller): Promise<Readable> {
    const targets = refs.map((ref, i) => target(ref, `refs[${i}]`));
    for (const { projectId } of targets) caller.assertReaches(projectId);
    for (const projectId of new Set(targets.map((target) => target.projectId)))
      await this.resolve(
        projectId,
        targets.filter((target) => target.projectId === projectId),
      );
    return Readable.from(this.values(targets, caller, this.database.key), { highWaterMark: 1 });
  }

  private async resolve(projectId: string, targets: Target[]): Promise<void> {
    const names = targets.map(({ objectId }) => objectId);
    const words = targets.map(({ word }) => word);
    const spelled = await spelledOut(this.database, projectId, names, words);
    for (const [i, target] of targets.entries()) target.word = spelled[i]!;
    const live = await this.database.query(referredQuery(projectId, ...columns(targets)));
    const versions = new Map(live.map((row) => [`${row.object_id}:${row.word}`, row]));
    const others: Target[] = [];
    for (const target of targets) {
      const row = versions.get(nameOf(target));
      if (row) target.version = { index: row.version_index, sizeBytes: row.size_bytes };
      else others.push(target);
    }
    if (others.length === 0) return;
    const rows = await this.database.query(deletedQuery(projectId, ...columns(others)));
    const deleted = new Set(rows.map(({ object_id, word }) => `${object_id}:${word}`));
    const missing = others.find((target) => !deleted.has(nameOf(target)));
    if (missing)
      throw new ApiError('not_found', `there is no object ${nameOf(missing)} in ${projectId}`);
  }

  private async *values(
    targets: readonly Target[],
    caller: Caller,
    key: () => string,
  ): AsyncGenerator<string[]> {
    const { database } = this;
    for (const group of groupsOf(targets)) {
      // They are asked for in the context of the connection.
      const nodes = await database.runFor(key, () => database.long(() => this.fetch(group)));
      let batch: string[] = [];
      let bytes = 0;
      for (const target of group) {
        const node = target.version ? nodes.get(versionKey(target)) : undefined;
        const found = node && (await this.walk(node, target.steps, caller));
        const text = found?.text ?? 'null';
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

  /** The values of live versions of one project. */
  private async fetch(group: readonly Target[]): Promise<Map<string, JsonNode>> {
    const live = group.filter(({ version }) => version !== null);
    if (live.length === 0) return new Map();
    const distinct = [...new Map(live.map((target) => [versionKey(target), target])).values()];
    const rows = await this.database.query(
      valuesQuery(
        live[0]!.projectId,
        distinct.map(({ objectId }) => objectId),
        distinct.map(({ version }) => version!.index),
      ),
    );
    return new Map(
      rows.map(({ object_id, version_index, val }) => [
        `${object_id}:v${version_index}`,
        new JsonNode(val),
      ]),
    );
  }

  /** Undefined when a step leads nowhere, as into a table that the caller may not see. */
  private async walk(
    from: JsonNode,
    steps: readonly Step[],
    caller: Caller,
  ): Promise<JsonNode | undefined> {
    let node: JsonNode | undefined = from;
    for (const { edge, word } of steps) {
      if (!node) return undefined;
      if (edge === 'index') node = node.element(Number(word));
      else if (edge === 'id') node = await this.row(node, word, caller);
      else node = node.member(word);
    }
    return node;
  }

  /** The row of the table that a value refers to. */
  private async row(
    { text }: JsonNode,
    digest: string,
    caller: Caller,
  ): Promise<JsonNode | undefined> {
    const projectId = text.startsWith('"') ? TABLE_REF.exec(JSON.parse(text))?.[1] : undefined;
    if (!isProjectId(projectId) || !caller.reaches(projectId) || !isRowDigest(digest))
      return undefined;
    const [row] = await this.database.query(rowQuery(projectId, digest));
    return row && new JsonNode(row.val);
  }
}

const TABLE_REF = new RegExp(`^${WIRE.scheme}:///([^/]+/[^/]+)/table/[^/]+$`);

function target(ref: string, path: string): Target {
  const parsed = parseRef(ref);
  if (!parsed || parsed.digest === null)
    throw invalidRequest([{ path, message: `must be an object or op ref: ${SHAPE}` }]);
  const { projectId, name, digest } = parsed;
  return {
    projectId,
    objectId: name,
    word: digest,
    steps: stepsOf(parsed.path, path),
    version: null,
  };
}

const SHAPE = `${WIRE.scheme}:///<entity>/<project>/object/<name>:<digest>`;

function stepsOf(parts: readonly string[], path: string): Step[] {
  const steps: Step[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    const edge = EDGES.find((name) => name === parts[i]);
    const word = parts[i + 1];
    if (!edge || word === undefined || (edge === 'index' && !/^\d{1,9}$/.test(word)))
      throw invalidRequest([
        {
          path,
          message: 'must go on in pairs attr/<key>, key/<key>, index/<n> or id/<row digest>',
        },
      ]);
    steps.push({ edge, word: unquoted(word) });
  }
  return steps;
}

/** Some clients percent-encode keys, others do not. */
function unquoted(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

const nameOf = ({ objectId, word }: Target) => `${objectId}:${word}`;
const versionKey = ({ objectId, version }: Target) => `${objectId}:v${version!.index}`;

const columns = (targets: readonly Target[]): [names: string[], words: string[]] => {
  const distinct = [...new Map(targets.map((target) => [nameOf(target), target])).values()];
  return [distinct.map(({ objectId }) => objectId), distinct.map(({ word }) => word)];
};

/** Neighbours of one project; a value more is added to a group as long as its values have not `FETCHED_BYTES` together. */
function* groupsOf(targets: readonly Target[]): Generator<Target[]> {
  let group: Target[] = [];
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
