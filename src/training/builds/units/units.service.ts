import { groupBy } from '../../../platform/query/grouping.js';
import type { Sql } from '../../../platform/query/sql.js';
import { Injectable } from '@nestjs/common';
import { CallsService } from '../../../tracing/calls/calls.service.js';
import { mapYielding } from '../../../platform/time/event-loop-turn.js';
import { Database } from '../../../platform/database/database.js';
import { PROMPT } from '../recipe/recipe.dto.js';
import type { Recipe } from '../recipe/recipe.js';
import type { UnitFeedback } from './rewards.js';
import {
  type UnitWithMembers,
  readMembers,
  TOO_MANY,
  type Unit,
  unitCalls,
  type UnitCalls,
} from './unit-calls.js';
import {
  feedbackQuery,
  firstPresent,
  keysQuery,
  MAX_UNIT_BYTES,
  MAX_UNIT_CALLS,
  membersQuery,
  type RootRow,
  type UnitSelection,
  sizesQuery,
  type TextsRow,
  textsQuery,
  turnsQuery,
  unitsQuery,
} from './units.query.js';

/** Paths of the user: the attributes of the application first, then the user whose key recorded the call. */
const USER = ['attributes.user_id', 'attributes.user\\.id', 'svc_user_id'];

/** Stored bytes of documents that are read at once. They are compressed, up to some hundred times. */
const BATCH_BYTES = 256 * 1024;
const BATCH_CALLS = 64;
/** Units whose calls and feedback are read together. */
const UNITS_AT_ONCE = 25;

/** Reads units in the transaction of the caller. */
@Injectable()
export class UnitsService {
  constructor(
    private readonly database: Database,
    private readonly calls: CallsService,
  ) {}

  /** @throws ApiError, InvalidQuery when a filter, a query or a path of the recipe is not valid */
  check(
    projectId: string,
    recipe: Recipe,
    path: string,
  ): { condition: UnitSelection['condition']; keys: GroupKeyPath[] } {
    const { filter, query } = recipe.select;
    const condition = this.calls.condition(
      { project_id: projectId, filter, query },
      `${path}.select`,
    );
    const keys = recipe.group.by.map((name, i) => ({
      name,
      value: name === PROMPT ? null : this.calls.field(projectId, name, `${path}.group.by[${i}]`),
    }));
    feedbackQuery(projectId, [], recipe.reward);
    this.sideValue(projectId, recipe, path);
    return { condition, keys };
  }

  /** Returns the value that the recipe splits by, when it is read with the group keys. It comes after them. */
  private sideValue(projectId: string, { split: { by } }: Recipe, path: string): Sql | null {
    if (by === 'group' || by === 'thread') return null;
    const names = by === 'user' ? USER : [by];
    const fields = names.map((name) => this.calls.field(projectId, name, `${path}.split.by`));
    return firstPresent(fields);
  }

  async select(selection: UnitSelection): Promise<RootRow[]> {
    return this.database.query(unitsQuery(selection));
  }

  async findUnits(
    { projectId, recipe }: UnitSelection,
    roots: RootRow[],
    keys: GroupKeyPath[],
  ): Promise<Unit[]> {
    const side = this.sideValue(projectId, recipe, 'recipe');
    const values = [...keys.flatMap(({ value }) => value ?? []), ...(side ? [side] : [])];
    const ids = roots.map(({ id }) => id);
    const rows =
      values.length > 0 ? await this.database.query(keysQuery(projectId, ids, values)) : [];
    const found = new Map(rows.map((row) => [row.id, row.keys]));
    const threads = roots.map(({ thread_id }) => thread_id!);
    const turns = recipe.select.unit === 'thread' ? await this.findTurns(projectId, threads) : null;
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

  private async findTurns(projectId: string, threads: string[]) {
    const rows =
      threads.length > 0 ? await this.database.query(turnsQuery(projectId, threads)) : [];
    return groupBy(rows, ({ thread_id }) => thread_id);
  }

  /** Yields units in their order with the facts about their calls. Reads some units at a time to bound memory. */
  async *readParts(
    projectId: string,
    units: Unit[],
    recipe: Recipe,
  ): AsyncGenerator<UnitWithMembers[]> {
    const sizes = await this.findSizes(projectId, units);
    let part: Unit[] = [];
    let calls = 0;
    for (const [i, unit] of units.entries()) {
      const size = sizes[i]!;
      if (part.length === UNITS_AT_ONCE || (part.length > 0 && calls + size > MAX_UNIT_CALLS)) {
        yield await this.readMembers(projectId, part, recipe);
        [part, calls] = [[], 0];
      }
      if (size > MAX_UNIT_CALLS) yield [{ unit, members: TOO_MANY }];
      else {
        part.push(unit);
        calls += size;
      }
    }
    if (part.length > 0) yield await this.readMembers(projectId, part, recipe);
  }

  private async findSizes(projectId: string, units: Unit[]): Promise<number[]> {
    const traces = [...new Set(units.flatMap((unit) => unit.traces))];
    const rows = await this.database.query(sizesQuery(projectId, traces));
    const sizes = new Map(rows.map(({ trace_id, calls }) => [trace_id, calls]));
    return units.map((unit) => unit.traces.reduce((sum, trace) => sum + sizes.get(trace)!, 0));
  }

  private async readMembers(
    projectId: string,
    units: Unit[],
    recipe: Recipe,
  ): Promise<UnitWithMembers[]> {
    const traces = [...new Set(units.flatMap((unit) => unit.traces))];
    const rows = await this.database.query(membersQuery(projectId, traces, recipe.select.settle_s));
    const byTrace = groupBy(rows, ({ trace_id }) => trace_id);
    return mapYielding(units, (unit) => ({ unit, members: readMembers(unit, byTrace, recipe) }));
  }

  /** Reads the feedback on each unit, the latest first. The inherited feedback on the turns of its thread follows. */
  async readSaid(
    projectId: string,
    all: UnitWithMembers[],
    recipe: Recipe,
  ): Promise<UnitFeedback[][]> {
    const own = all.map(({ members }) => [...members.ids, ...members.above]);
    const threads = [...new Set(all.flatMap(({ members }) => members.thread ?? []))];
    const turns = await this.findTurns(projectId, threads);
    const inThreads = threads.map((thread) => (turns.get(thread) ?? []).map(({ id }) => id));
    const said: UnitFeedback[][] = [...own, ...inThreads].map(() => []);
    const query = feedbackQuery(projectId, [...own, ...inThreads], recipe.reward);
    for (const { unit, ...one } of await this.database.query(query)) said[unit]!.push(one);
    return all.map(({ members: { parents, thread } }, i) => {
      const inherited = thread === null ? [] : said[all.length + threads.indexOf(thread)]!;
      return [...said[i]!, ...inherited.filter(({ call }) => !parents.has(call))];
    });
  }

  /** Yields the calls of a model of one unit after the other. Reads the texts of several units at once. */
  async *readCalls(
    { projectId, recipe }: Pick<UnitSelection, 'projectId' | 'recipe'>,
    all: UnitWithMembers[],
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

export interface GroupKeyPath {
  name: string;
  /** Null for the key `prompt`. */
  value: UnitSelection['condition'] | null;
}

/** Reads texts in batches, and returns them in the order of `wanted`. */
class TextsReader {
  private batch = new Map<string, TextsRow>();
  private at = 0;
  private end = 0;

  constructor(
    private readonly query: (ids: string[]) => Promise<TextsRow[]>,
    private readonly wanted: { id: string; size: number }[],
  ) {}

  /** Returns the next rows. Rows are null from the point where they are too large together. */
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
