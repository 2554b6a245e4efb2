import { groupedBy } from '../../platform/query/grouped-by.js';
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { CallsService } from '../../tracing/calls/calls.service.js';
import { inTurns } from '../../platform/time/turn.js';
import { Database } from '../../platform/database/database.js';
import { type LlmCall, llmCallOf } from './llm-calls.js';
import { PROMPT, type RecipeLlmDto } from './recipe.dto.js';
import type { Recipe } from './recipe.js';
import type { Said } from './rewards.js';
import {
  feedbackQuery,
  keysQuery,
  MAX_UNIT_BYTES,
  MAX_UNIT_CALLS,
  type MemberRow,
  membersQuery,
  type RootRow,
  type Selection,
  sizesQuery,
  type TextsRow,
  textsQuery,
  turnsQuery,
  unitsQuery,
} from './units.query.js';

/** A unit, before its calls are read. */
export interface Unit {
  /** Of the root call, or of the thread. */
  id: string;
  root: RootRow;
  /** Its roots: the turns of a thread, else one. */
  roots: string[];
  traces: string[];
}

/** What is known of the calls of a unit without their documents. */
interface Members {
  hasTooMany: boolean;
  isWaiting: boolean;
  hasFailed: boolean;
  ids: string[];
  /** Calls that may be calls of a model, in their order. */
  candidates: MemberRow[];
  /** The parent of each call. */
  parents: Map<string, string | null>;
}

/** A unit with what is known of its calls. */
export interface Member {
  unit: Unit;
  members: Members;
}

const TOO_MANY: Members = {
  hasTooMany: true,
  isWaiting: false,
  hasFailed: false,
  ids: [],
  candidates: [],
  parents: new Map(),
};

/** The calls of a model in a unit; `isTooLarge` when they were not read. */
export interface UnitCalls {
  calls: LlmCall[];
  /** The calls whose texts went in, and the SHA-256 over these. */
  texts: { id: string; sha256: string }[];
  isTooLarge: boolean;
}

/** Stored bytes of documents that are read at once; they are compressed by up to some hundred times. */
const BATCH_BYTES = 256 * 1024;
const BATCH_CALLS = 64;
/** Units whose calls and feedback are looked at together. */
const UNITS_AT_ONCE = 25;

/** Reads units, in the transaction of the caller. */
@Injectable()
export class UnitsService {
  constructor(
    private readonly database: Database,
    private readonly calls: CallsService,
  ) {}

  /** @throws ApiError, InvalidQuery when a filter, a query or a path of the recipe cannot be read */
  check(
    projectId: string,
    recipe: Recipe,
    path: string,
  ): { condition: Selection['condition']; keys: KeyPath[] } {
    const { filter, query } = recipe.select;
    const condition = this.calls.condition(
      { project_id: projectId, filter, query },
      `${path}.select`,
    );
    const keys = recipe.group.by.map((name, i) => ({
      name,
      value: name === PROMPT ? null : this.calls.field(projectId, name, `${path}.group.by[${i}]`),
    }));
    feedbackQuery(projectId, [], recipe.reward.terms);
    return { condition, keys };
  }

  async select(selection: Selection): Promise<RootRow[]> {
    return this.database.query(unitsQuery(selection));
  }

  /** The units of roots, with the values of their group keys. */
  async unitsOf(
    { projectId, recipe }: Selection,
    roots: RootRow[],
    keys: KeyPath[],
  ): Promise<Unit[]> {
    const values = keys.flatMap(({ value }) => value ?? []);
    const found = new Map<string, (string | null)[]>();
    if (values.length > 0)
      for (const row of await this.database.query(
        keysQuery(
          projectId,
          roots.map(({ id }) => id),
          values,
        ),
      ))
        found.set(row.id, row.keys);
    const turns = recipe.select.unit === 'thread' ? await this.turnsOf(projectId, roots) : null;
    return roots.map((row) => {
      const root = { ...row, keys: found.get(row.id) ?? [] };
      const own = turns?.get(row.thread_id!) ?? [{ id: row.id, trace_id: row.trace_id }];
      return {
        id: turns ? row.thread_id! : row.id,
        root,
        roots: own.map(({ id }) => id),
        traces: [...new Set(own.map(({ trace_id }) => trace_id))],
      };
    });
  }

  private async turnsOf(projectId: string, roots: RootRow[]) {
    const rows = await this.database.query(
      turnsQuery(
        projectId,
        roots.map(({ thread_id }) => thread_id!),
      ),
    );
    return groupedBy(rows, ({ thread_id }) => thread_id);
  }

  /** Units, in their order, with what is known of their calls: some at a time, so that memory is bounded. */
  async *partsOf(projectId: string, units: Unit[], recipe: Recipe): AsyncGenerator<Member[]> {
    const sizes = await this.sizesOf(projectId, units);
    let part: Unit[] = [];
    let calls = 0;
    for (const [i, unit] of units.entries()) {
      const size = sizes[i]!;
      if (part.length === UNITS_AT_ONCE || (part.length > 0 && calls + size > MAX_UNIT_CALLS)) {
        yield await this.membersOf(projectId, part, recipe);
        [part, calls] = [[], 0];
      }
      if (size > MAX_UNIT_CALLS) yield [{ unit, members: TOO_MANY }];
      else {
        part.push(unit);
        calls += size;
      }
    }
    if (part.length > 0) yield await this.membersOf(projectId, part, recipe);
  }

  /** How many calls the traces of each unit have. */
  private async sizesOf(projectId: string, units: Unit[]): Promise<number[]> {
    const traces = [...new Set(units.flatMap((unit) => unit.traces))];
    const rows = await this.database.query(sizesQuery(projectId, traces));
    const sizes = new Map(rows.map(({ trace_id, calls }) => [trace_id, calls]));
    return units.map((unit) => unit.traces.reduce((sum, trace) => sum + sizes.get(trace)!, 0));
  }

  private async membersOf(projectId: string, units: Unit[], recipe: Recipe): Promise<Member[]> {
    const traces = [...new Set(units.flatMap((unit) => unit.traces))];
    const rows = await this.database.query(membersQuery(projectId, traces, recipe.select.settle_s));
    const byTrace = groupedBy(rows, ({ trace_id }) => trace_id);
    return inTurns(units, (unit) => ({ unit, members: membersOf(unit, byTrace, recipe) }));
  }

  /** What feedback says on each unit, the latest first. */
  async saidOf(projectId: string, all: Member[], recipe: Recipe): Promise<Said[][]> {
    const said: Said[][] = all.map(() => []);
    const rows = await this.database.query(
      feedbackQuery(
        projectId,
        all.map(({ members }) => members.ids),
        recipe.reward.terms,
      ),
    );
    for (const { unit, id, sha256, values } of rows) said[unit]!.push({ id, sha256, values });
    return said;
  }

  /** The calls of a model in units, one unit after the other; texts are read for several at once. */
  async *callsOf(
    { projectId, recipe }: Pick<Selection, 'projectId' | 'recipe'>,
    all: Member[],
  ): AsyncGenerator<UnitCalls> {
    const wanted = all.map(({ unit, members }) => [
      ...new Set([unit.root.id, ...members.candidates.map(({ id }) => id)]),
    ]);
    const sizes = new Map(
      all.flatMap(({ members }) => members.candidates.map(({ id, size }) => [id, size!] as const)),
    );
    const texts = new TextsReader(
      (ids) => this.database.query(textsQuery(projectId, ids)),
      wanted.flat().map((id) => ({ id, size: sizes.get(id) ?? BATCH_BYTES / 8 })),
    );
    for (const [i, { unit, members }] of all.entries())
      yield await unitCalls(
        unit,
        members,
        await texts.next(wanted[i]!.length),
        recipe.select.unit === 'call',
      );
  }
}

export interface KeyPath {
  name: string;
  /** Null for the hash of the prompt. */
  value: Selection['condition'] | null;
}

/** Reads texts in batches, and hands them out in the order in which they are wanted. */
class TextsReader {
  private batch = new Map<string, TextsRow>();
  private at = 0;
  private end = 0;

  constructor(
    private readonly query: (ids: string[]) => Promise<TextsRow[]>,
    private readonly wanted: { id: string; size: number }[],
  ) {}

  /** The next rows, as long as they are not too large together; null from there on. */
  async next(count: number): Promise<Map<string, TextsRow | null>> {
    const rows = new Map<string, TextsRow | null>();
    let bytes = 0;
    for (const { id } of this.wanted.slice(this.at, this.at + count)) {
      if (this.at === this.end) await this.readOn();
      this.at++;
      const row = this.batch.get(id) ?? null;
      bytes += row?.bytes ?? 0;
      rows.set(id, bytes <= MAX_UNIT_BYTES ? row : null);
    }
    return rows;
  }

  private async readOn(): Promise<void> {
    const ids: string[] = [];
    for (let bytes = 0; ids.length < BATCH_CALLS && this.end < this.wanted.length;) {
      const { id, size } = this.wanted[this.end]!;
      if (ids.length > 0 && bytes + size > BATCH_BYTES) break;
      bytes += size;
      ids.push(id);
      this.end++;
    }
    this.batch = new Map((await this.query(ids)).map((row) => [row.id, row]));
  }
}

function membersOf(unit: Unit, byTrace: Map<string, MemberRow[]>, recipe: Recipe): Members {
  const rows = unit.traces.flatMap((trace) => byTrace.get(trace) ?? []);
  const parents = new Map(rows.map(({ id, parent_id }) => [id, parent_id]));
  const scorers = new Set(rows.filter((row) => row.is_scorer).map(({ id }) => id));
  const places = placesOf(unit, parents, scorers);
  const own = rows.filter(({ id }) => places.get(id) !== OUTSIDE);
  const isJudging = isBelow(unit.root.id, parents, scorers);
  const roots = own.filter(({ id }) => unit.roots.includes(id));
  return {
    hasTooMany: false,
    isWaiting: roots.some((row) => row.is_running) || own.some((row) => row.is_young),
    hasFailed: roots.some((row) => row.has_failed),
    ids: own.map(({ id }) => id),
    candidates: own.filter(
      ({ id, size, op_name }) =>
        size !== null && !isJudging && places.get(id) === INSIDE && isNamed(op_name, recipe.llm),
    ),
    parents,
  };
}

const [OUTSIDE, BELOW_SCORER, INSIDE] = [0, 1, 2];

/** Whether a call, or one above it, is one of these. */
function isBelow(id: string, parents: Members['parents'], these: Set<string>): boolean {
  const seen = new Set<string>();
  for (let at: string | null | undefined = id; at && !seen.has(at); at = parents.get(at)) {
    if (these.has(at)) return true;
    seen.add(at);
  }
  return false;
}

/** Where each call of the traces of a unit stands. Each is looked at once, however deep the tree is. */
function placesOf(
  unit: Unit,
  parents: Members['parents'],
  scorers: Set<string>,
): Map<string, number> {
  const places = new Map<string, number>(unit.roots.map((id) => [id, INSIDE]));
  for (const id of parents.keys()) {
    const climbed: string[] = [];
    let at: string | null | undefined = id;
    while (at !== null && at !== undefined && !places.has(at)) {
      places.set(at, OUTSIDE); // found again, should the parents go round in a circle
      climbed.push(at);
      at = parents.get(at);
    }
    let place = at === null || at === undefined ? OUTSIDE : places.get(at)!;
    for (const below of climbed.toReversed()) {
      if (place === INSIDE && scorers.has(below)) place = BELOW_SCORER;
      places.set(below, place);
    }
  }
  return places;
}

function isNamed(opName: string, { op_names, exclude_op_names }: RecipeLlmDto): boolean {
  const isOneOf = (names: string[]) =>
    names.some((name) =>
      name.endsWith(':*') ? opName.startsWith(name.slice(0, -1)) : opName === name,
    );
  return (op_names.length === 0 || isOneOf(op_names)) && !isOneOf(exclude_op_names);
}

async function unitCalls(
  unit: Unit,
  members: Members,
  rows: Map<string, TextsRow | null>,
  isOneCall: boolean,
): Promise<UnitCalls> {
  const wrappers = new Set<string>();
  const isUnread = members.candidates.some(({ id }) => !rows.get(id)?.inputs);
  const read = await inTurns(members.candidates, ({ id, has_failed }) =>
    isUnread || has_failed ? null : llmCallOf(rows.get(id)!),
  );
  const found = read.filter((call) => call !== null && call !== 'too_long');
  // an instrumentation around another one records the same call again: the innermost counts
  const isFound = new Set(found.map(({ id }) => id));
  for (const { id } of found) {
    for (let at = members.parents.get(id); at && !wrappers.has(at); at = members.parents.get(at))
      if (isFound.has(at)) wrappers.add(at);
      else if (unit.roots.includes(at)) break;
  }
  const calls = found.filter(({ id }) => !wrappers.has(id) && (!isOneCall || id === unit.id));
  const length = calls.reduce((sum, call) => sum + lengthOf(call), 0);
  const used = [...new Set([unit.root.id, ...calls.map(({ id }) => id)])];
  return {
    calls,
    texts: await inTurns(
      used.filter((id) => rows.get(id)),
      (id) => ({ id, sha256: sha256Of(rows.get(id)!) }),
    ),
    isTooLarge: isUnread || read.includes('too_long') || length > MAX_UNIT_BYTES,
  };
}

/** Each choice becomes a history, with the tools and the messages before it. */
const lengthOf = ({ choices, messages, tools }: LlmCall): number =>
  choices.length * messages.reduce((sum, { text }) => sum + text.length, tools?.length ?? 0);

/** Over everything of a call that goes into a build. */
function sha256Of(row: TextsRow): string {
  const { id, op_name, started_at, exception, attributes, inputs, output, usage } = row;
  const hash = createHash('sha256');
  for (const text of [id, op_name, started_at, exception, attributes, inputs, output, usage])
    hash.update(text === null ? '-' : `${Buffer.byteLength(text)}:`).update(text ?? '');
  return hash.digest('hex');
}
