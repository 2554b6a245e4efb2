// SQL: the spelling of stored refs and types of feedback depends on the client that sent them.
import { SCHEME, spellRefs } from '../platform/http/refs.js';
import { ALL_WIRE, otherWire, wire } from '../platform/http/wire-names.js';
import { column, type Operand } from '../platform/query/columns.js';
import { identifier, join, type Sql, sql } from '../platform/query/sql.js';

/** A prefix of stored texts in the spellings of the two dialects. */
interface SpellingPrefix {
  own: string;
  other: string;
}

const refPrefix = (): SpellingPrefix => ({
  own: `${wire().scheme}:///`,
  other: `${otherWire().scheme}:///`,
});
const typePrefix = (own = wire(), other = otherWire()): SpellingPrefix => ({
  own: `${own.feedback}.`,
  other: `${other.feedback}.`,
});

/**
 * Converts a text to the current dialect. Feedback is stored as it was sent, so that resends compare equal and a change
 * of `WIRE_DIALECT` loses nothing. Filters by ref or type match both spellings.
 */
const inOwnSpelling = (text: Sql, { own, other }: SpellingPrefix) =>
  sql`(CASE WHEN starts_with(${text}, ${other}::text) THEN ${own}::text || substr(${text}, ${other.length + 1}::int) ELSE ${text} END)`;

function bothSpellings(text: string, { own, other }: SpellingPrefix): string[] {
  const from = [own, other].find((prefix) => text.startsWith(prefix));
  if (from === undefined) return [text];
  const rest = text.slice(from.length);
  return [own + rest, other + rest];
}

const bothSpellingsColumn = (text: Sql, prefix: SpellingPrefix, isNotNull: boolean): Operand =>
  column.text(inOwnSpelling(text, prefix), {
    ...(isNotNull && { isNotNull }),
    cases: { get: (word) => sql`(${text} = ANY(${bothSpellings(word, prefix)}::text[]))` },
  });

/** A column of refs. The index finds a single ref. */
export const refColumn = (ref: Sql, { isNotNull = false } = {}) =>
  bothSpellingsColumn(ref, refPrefix(), isNotNull);

/** The ref and the user of the feedback `f`, under the names that the client reads. */
export const refField = () => sql`${refColumn(sql`f.ref`).sql} AS ${identifier(wire().ref)}`;
export const userField = () => sql`f.user_id AS ${identifier(wire().userId)}`;

/** The type of the feedback `f`. */
export const typeColumn = () => bothSpellingsColumn(sql`f.feedback_type`, typePrefix(), true);

/** Returns a type in the spelling of the request's dialect. */
export const typeIn = (text: Sql) => inOwnSpelling(text, typePrefix());

/** Matches feedback `f` with one of the types, in either spelling. */
export const isOfType = (...types: readonly string[]) =>
  sql`(f.feedback_type = ANY(${types.flatMap((type) => bothSpellings(type, typePrefix()))}::text[]))`;

/** Returns a type in the neutral spelling. */
export const neutralType = (type: string) => bothSpellings(type, typePrefix(...ALL_WIRE))[0]!;

/** Returns a type in the spelling of the request's dialect. */
export const ownType = (type: string) => bothSpellings(type, typePrefix())[0]!;

/** Matches the feedback `f` on a call. The ref is written out so that its index is used. `id` is the call's id. */
export const isOnCall = (projectId: string, id: Sql) => {
  const [own, other] = spellRefs(projectId, ['call'], ['']).map(
    (ref) => sql`${ref}::text || ${id}`,
  );
  return sql`f.project_id = ${projectId} AND f.ref IN (${own!}, ${other!})`;
};

/** Returns the n-th part of the ref of the feedback `f`: `<scheme>:`, empty, empty, entity, project, kind, id. */
export const refPart = (n: number) => sql`split_part(f.ref, '/', ${n}::int)`;

/**
 * Excludes feedback `f` on a deleted call or span, on a part of one, and on a turn whose calls are all deleted. All
 * readers use it; the feedback is erased with the call. Feedback on a call that is not stored is shown, since the call
 * may arrive later.
 */
export const isShown = (projectId: string): Sql => sql`CASE
  WHEN ${refPart(4)} || '/' || ${refPart(5)} <> ${projectId} THEN TRUE
  WHEN ${refPart(6)} IN ('call', 'agent_span') THEN (SELECT c.deleted_at IS NULL FROM calls c
    WHERE c.project_id = ${projectId} AND c.id = ${refPart(7)} LIMIT 1) IS NOT FALSE
  WHEN ${refPart(6)} = 'agent_turn' THEN (SELECT bool_or(c.deleted_at IS NULL) FROM calls c
    WHERE c.project_id = ${projectId} AND c.trace_id = ${refPart(7)}) IS NOT FALSE
  ELSE TRUE END`;

const ANY_SCHEME = new RegExp(`^${SCHEME}:///`);

/** Returns a ref in the spelling of the request's dialect. */
export const ownRef = (ref: string) => ref.replace(ANY_SCHEME, refPrefix().own);

/** JSON columns with the scores of a scorer, and text columns about the span that was scored. */
export const SCORER_JSON = [
  'scorer_tags',
  'scorer_tag_reasons',
  'scorer_tag_confidences',
  'scorer_ratings',
  'scorer_rating_reasons',
  'scorer_rating_confidences',
] as const;
export const SCORER_TEXTS = [
  'span_agent_name',
  'span_agent_version',
  'span_status_code',
  'span_conversation_id',
  'span_trace_id',
  'scorer_trace_id',
] as const;

const EMPTY: Partial<Record<string, Sql>> = {
  scorer_tags: sql`'[]'`,
  span_status_code: sql`'UNSET'`,
};

/**
 * Returns the value of a scorer column of the feedback `f`. It replaces NULL, because weave's clients accept no null
 * here.
 */
export const scorerValue = (name: (typeof SCORER_JSON | typeof SCORER_TEXTS)[number]) =>
  sql`coalesce(f.${identifier(name)}, ${EMPTY[name] ?? (SCORER_TEXTS.some((text) => text === name) ? sql`''` : sql`'{}'`)})`;

/** The JSON columns, and all columns. */
export const SCORER_JSON_COLUMNS = join(
  SCORER_JSON.map((name) => sql`${scorerValue(name)} AS ${identifier(name)}`),
);
export const SCORER_COLUMNS = join([
  SCORER_JSON_COLUMNS,
  ...SCORER_TEXTS.map((name) => sql`${scorerValue(name)} AS ${identifier(name)}`),
]);

export const SCORER_BYTES = sql`(${join(
  SCORER_JSON.map((name) => sql`coalesce(octet_length(f.${identifier(name)}::text), 0)`),
  ' + ',
)})`;
