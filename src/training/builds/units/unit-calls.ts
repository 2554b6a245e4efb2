import { createHash } from 'node:crypto';
import { mapYielding } from '../../../platform/time/event-loop-turn.js';
import { type LlmCall, readLlmCall } from '../rollout/llm-calls.js';
import type { RecipeLlmDto } from '../recipe/recipe.dto.js';
import type { Recipe } from '../recipe/recipe.js';
import { MAX_UNIT_BYTES, type MemberRow, type RootRow, type TextsRow } from './units.query.js';

/* Finds the calls of a unit in its traces, and the calls of a model among them. */

export interface Unit {
  /** Id of the root call, or of the thread. */
  id: string;
  root: RootRow;
  /** Ids of the roots: the turns of a thread, or one root. */
  roots: string[];
  traces: string[];
}

/** Facts about the calls of a unit, read without their documents. */
export interface UnitMembers {
  hasTooMany: boolean;
  isWaiting: boolean;
  hasFailed: boolean;
  ids: string[];
  /**
   * Ids of the calls above the root whose scores the unit inherits; `thread` is the thread whose turns it inherits
   * from.
   */
  above: string[];
  thread: string | null;
  /** Ids of calls of a model without messages. */
  unread: string[];
  /** Calls that may be calls of a model, in their order. */
  candidates: MemberRow[];
  parents: Map<string, string | null>;
}

export interface UnitWithMembers {
  unit: Unit;
  members: UnitMembers;
}

export const TOO_MANY: UnitMembers = {
  hasTooMany: true,
  isWaiting: false,
  hasFailed: false,
  ids: [],
  above: [],
  thread: null,
  unread: [],
  candidates: [],
  parents: new Map(),
};

/** The calls of a model in a unit. `isTooLarge` is true when they were not read. */
export interface UnitCalls {
  calls: LlmCall[];
  /** Calls whose texts the build uses, and the SHA-256 of these texts. */
  texts: { id: string; sha256: string }[];
  /** Ids of calls of a model with an unknown format. */
  unread: ReadonlySet<string>;
  /** For each call, the last call of a model in it or below it. */
  last: ReadonlyMap<string, string>;
  isTooLarge: boolean;
}

export function readMembers(
  unit: Unit,
  byTrace: Map<string, MemberRow[]>,
  recipe: Recipe,
): UnitMembers {
  const rows = unit.traces.flatMap((trace) => byTrace.get(trace) ?? []);
  const parents = new Map(rows.map(({ id, parent_id }) => [id, parent_id]));
  const scorers = new Set(rows.filter((row) => row.is_scorer).map(({ id }) => id));
  const places = placeCalls(unit, parents, scorers);
  const own = rows.filter(({ id }) => places.get(id) !== OUTSIDE);
  const isJudging = isBelow(unit.root.id, parents, scorers);
  const roots = own.filter(({ id }) => unit.roots.includes(id));
  return {
    hasTooMany: false,
    isWaiting: roots.some((row) => row.is_running) || own.some((row) => row.is_young),
    hasFailed: roots.some((row) => row.has_failed),
    ids: own.map(({ id }) => id),
    ...inheritedFrom(unit, rows, recipe.reward.inherit),
    unread: own.flatMap(({ id, size, is_model, has_failed, op_name }) =>
      size === null &&
      is_model &&
      !has_failed &&
      !isJudging &&
      places.get(id) === INSIDE &&
      isSelectedOp(op_name, recipe.llm)
        ? [id]
        : [],
    ),
    candidates: own.filter(
      ({ id, size, op_name }) =>
        size !== null &&
        !isJudging &&
        places.get(id) === INSIDE &&
        isSelectedOp(op_name, recipe.llm),
    ),
    parents,
  };
}

/** Returns the calls above the root of a unit, and the thread of the nearest call that has one. */
function inheritedFrom(
  { root }: Unit,
  rows: MemberRow[],
  inherit: Recipe['reward']['inherit'],
): Pick<UnitMembers, 'above' | 'thread'> {
  if (inherit === null) return { above: [], thread: null };
  const known = new Map(rows.map((row) => [row.id, row]));
  const above = new Set<string>();
  let thread = root.thread_id;
  for (let at = known.get(root.id)?.parent_id; at && !above.has(at);) {
    const row = known.get(at);
    if (!row) break;
    above.add(at);
    thread ||= row.thread_id;
    at = row.parent_id;
  }
  return { above: [...above], thread: inherit === 'thread' ? thread || null : null };
}

const [OUTSIDE, BELOW_SCORER, INSIDE] = [0, 1, 2];

function isBelow(id: string, parents: UnitMembers['parents'], these: Set<string>): boolean {
  const seen = new Set<string>();
  for (let at: string | null | undefined = id; at && !seen.has(at); at = parents.get(at)) {
    if (these.has(at)) return true;
    seen.add(at);
  }
  return false;
}

/**
 * Finds where each call of the traces stands: outside the unit, inside it, or below a scorer in it. Visits each call
 * once, however deep the tree is.
 */
function placeCalls(
  unit: Unit,
  parents: UnitMembers['parents'],
  scorers: Set<string>,
): Map<string, number> {
  const places = new Map<string, number>(unit.roots.map((id) => [id, INSIDE]));
  for (const id of parents.keys()) {
    const climbed: string[] = [];
    let at: string | null | undefined = id;
    while (at !== null && at !== undefined && !places.has(at)) {
      places.set(at, OUTSIDE); // ends the loop when parents form a circle
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

function isSelectedOp(opName: string, { op_names, exclude_op_names }: RecipeLlmDto): boolean {
  const isOneOf = (names: string[]) =>
    names.some((name) =>
      name.endsWith(':*') ? opName.startsWith(name.slice(0, -1)) : opName === name,
    );
  return (op_names.length === 0 || isOneOf(op_names)) && !isOneOf(exclude_op_names);
}

export async function unitCalls(
  unit: Unit,
  members: UnitMembers,
  rows: Map<string, TextsRow | null>,
  isOneCall: boolean,
): Promise<UnitCalls> {
  const isUnread = members.candidates.some(({ id }) => !rows.get(id)?.inputs);
  const read = await mapYielding(members.candidates, ({ id, has_failed }) =>
    isUnread || has_failed ? null : readLlmCall(rows.get(id)!),
  );
  const found = read.filter((call) => typeof call === 'object' && call !== null);
  const notRead = members.candidates.flatMap(({ id }, i) => (read[i] === 'unread' ? [id] : []));
  // when an instrumentation wraps another one, both record the call: the innermost one counts
  const wrappers = callsAbove([...found.map(({ id }) => id), ...notRead], members.parents);
  const isOwn = (id: string) => !wrappers.has(id) && (!isOneCall || id === unit.id);
  const calls = found.filter(({ id }) => isOwn(id));
  const unread = new Set([...notRead, ...members.unread].filter(isOwn));
  const length = calls.reduce((sum, call) => sum + callLength(call), 0);
  const isRead = new Set(calls.map(({ id }) => id));
  const used = [...new Set([unit.root.id, ...calls.map(({ id }) => id)])];
  return {
    calls,
    texts: await mapYielding(
      used.filter((id) => rows.get(id)),
      (id) => ({ id, sha256: hashCall(rows.get(id)!) }),
    ),
    unread,
    last: lastBelow(
      members.ids.filter((id) => unread.has(id) || isRead.has(id)),
      members.parents,
    ),
    isTooLarge: isUnread || read.includes('too_long') || length > MAX_UNIT_BYTES,
  };
}

/** Returns all calls above the given ones. Visits each call once. */
function callsAbove(ids: string[], parents: UnitMembers['parents']): Set<string> {
  const above = new Set<string>();
  for (const id of ids)
    for (let at = parents.get(id); at && !above.has(at); at = parents.get(at)) above.add(at);
  return above;
}

/** Returns, for each call, the last of the given calls in it or below it. Visits each call once, the last one first. */
function lastBelow(ids: string[], parents: UnitMembers['parents']): Map<string, string> {
  const last = new Map<string, string>();
  for (const id of ids.toReversed())
    for (let at: string | null | undefined = id; at && !last.has(at); at = parents.get(at))
      last.set(at, id);
  return last;
}

/** Counts characters: each choice becomes a history that repeats the tools, the messages and the tokens before it. */
const callLength = ({ choices, messages, tools, promptTokenIds }: LlmCall): number =>
  choices.length *
  messages.reduce(
    (sum, { text }) => sum + text.length,
    (tools?.length ?? 0) + (promptTokenIds?.text.length ?? 0),
  );

/** Hashes all texts of a call that a build uses. `textsSha256` computes the same hash in SQL. */
function hashCall(row: TextsRow): string {
  const { id, op_name, started_at, exception, attributes, inputs, output, usage } = row;
  const hash = createHash('sha256');
  for (const text of [id, op_name, started_at, exception, attributes, inputs, output, usage])
    hash.update(text === null ? '-' : `${Buffer.byteLength(text)}:`).update(text ?? '');
  return hash.digest('hex');
}
