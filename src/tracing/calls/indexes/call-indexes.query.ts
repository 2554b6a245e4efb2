import { createHash } from 'node:crypto';
import {
  column,
  type Columns,
  InvalidQuery,
  nameBudget,
  resolve,
  pathSteps,
  storable,
  toNumber,
  wireTime,
} from '../../../platform/query/columns.js';
import { textKey } from '../../../platform/query/operands.js';
import { join, sql, type Sql } from '../../../platform/query/sql.js';
import { derivedField } from '../read/derived-field.js';
import type { CallIndexStateDto, IndexKind } from './call-indexes.dto.js';

/** Prefix that no other index has. */
const PREFIX = 'calls_field_';

/** Expressions as `calls.query.ts` spells them. With another spelling PostgreSQL would not use the index. */
const document = (name: Sql) => column.json(name, sql`is_opaque`);
const DOCUMENTS: Columns = {
  attributes: document(sql`attributes`),
  inputs: document(sql`inputs`),
  output: document(sql`output`),
  summary: document(sql`summary`),
};

/**
 * Index methods. `text` compares keys of eight bytes: a text of over 2,704 bytes is too long for a B-tree. A hash index
 * takes longer for each call the more calls have the same value. A `number` has at most 400 characters
 * (`skein_number`). `substring` uses trigrams.
 */
const METHODS: Record<IndexKind, { name: string; operators?: string }> = {
  text: { name: 'btree' },
  number: { name: 'btree' },
  substring: { name: 'gin', operators: 'gin_trgm_ops' },
};

export interface IndexDefinition {
  project_id: string;
  name: string;
  field: string;
  kind: IndexKind;
}

/**
 * Validates a requested index and computes its name.
 * @throws InvalidQuery if the field is no path into a stored document of calls
 */
export function indexDefinition(
  projectId: string,
  field: string,
  kind: IndexKind,
): IndexDefinition {
  indexKey(field, kind);
  const steps = pathSteps(field, 'field', nameBudget()).map(storable);
  if (steps.length < 2 && kind !== 'substring')
    throw new InvalidQuery('field', 'must be a path into a document of calls');
  if (steps[0] === 'summary' && `summary.${steps[1]}.` === derivedField(''))
    throw new InvalidQuery('field', 'names what is derived, not stored');
  const digest = createHash('sha256').update(JSON.stringify([projectId, kind, steps]));
  return { project_id: projectId, name: PREFIX + digest.digest('hex').slice(0, 32), field, kind };
}

function indexKey(field: string, kind: IndexKind): Sql {
  const value = resolve(DOCUMENTS, field, 'field', nameBudget()).sql;
  if (kind === 'substring') return value;
  return kind === 'number' ? toNumber(value) : textKey(value);
}

/** Returns a query for the statement that makes the index. DDL takes no parameters, so PostgreSQL quotes the values. */
export function createStatement({
  project_id,
  name,
  field,
  kind,
}: IndexDefinition): Sql<{ statement: string }> {
  const key = sql`${indexKey(field, kind)}`.toQuery();
  const { name: method, operators = '' } = METHODS[kind];
  const expression = key.text
    .replaceAll('%', '%%')
    .replaceAll(/\$(\d+)/g, (_, place: string) => `%${Number(place) + 2}$L`);
  const template = `CREATE INDEX CONCURRENTLY %1$I ON calls USING ${method} ((${expression}) ${operators}) WHERE project_id = %2$L`;
  const values = key.values.map((value) =>
    Array.isArray(value) ? sql`${value}::text[]` : sql`${value}::text`,
  );
  return sql`SELECT format(${join([template, name, project_id].map((text) => sql`${text}::text`).concat(values))}) AS statement`;
}

/** `name` must begin with `PREFIX`, so it needs no quoting. */
export const dropStatement = (name: string) => `DROP INDEX CONCURRENTLY IF EXISTS "${name}"`;

const EXISTING_INDEXES = sql`(
  SELECT c.relname::text COLLATE "C" AS name, x.indisvalid AS is_valid, pg_relation_size(c.oid) AS bytes
  FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
  WHERE x.indrelid = 'calls'::regclass AND starts_with(c.relname::text, ${PREFIX}::text))`;

export const indexesQuery = (
  projectId: string,
  name: string | null = null,
) => sql<CallIndexStateDto>`
  SELECT w.field, w.kind, CASE WHEN t.is_valid THEN 'ready' WHEN w.error IS NOT NULL THEN 'failed' ELSE 'building' END AS status,
    CASE WHEN t.is_valid IS NOT TRUE THEN w.error END AS error,
    coalesce(t.bytes, 0)::float8 AS size_bytes, ${wireTime(sql`w.created_at`)} AS created_at
  FROM call_indexes w LEFT JOIN ${EXISTING_INDEXES} t ON t.name = w.name
  WHERE w.project_id = ${projectId} AND (${name}::text IS NULL OR w.name = ${name}) ORDER BY w.created_at, w.name`;

export interface IndexCounts {
  of_project: number;
  of_entity: number;
  total: number;
}

export const countsQuery = ({ project_id, name }: IndexDefinition) => sql<IndexCounts>`
  SELECT count(*) FILTER (WHERE project_id = ${project_id})::int AS of_project,
    count(*) FILTER (WHERE split_part(project_id, '/', 1) = split_part(${project_id}, '/', 1))::int AS of_entity, count(*)::int AS total
  FROM call_indexes WHERE (project_id, name) <> (${project_id}, ${name})`;

/** Requests an index. An index that failed is tried again. */
export const indexInsert = ({ project_id, name, field, kind }: IndexDefinition) => sql`
  INSERT INTO call_indexes (project_id, name, field, kind) VALUES (${project_id}, ${name}, ${field}, ${kind})
  ON CONFLICT (project_id, name) DO UPDATE SET error = NULL`;

/**
 * The next difference between requested and existing indexes: an index that is missing, invalid, or not requested any
 * more.
 */
export interface IndexDifference {
  /** True if PostgreSQL has the index. It is then dropped first. */
  is_there: boolean;
  name: string;
  /** The index to make. Null if the existing one must only be dropped. */
  wanted: IndexDefinition | null;
}

export const differenceQuery = () => sql<IndexDifference>`
  SELECT coalesce(w.name, t.name) AS name, t.name IS NOT NULL AS is_there,
    CASE WHEN w.name IS NOT NULL AND w.error IS NULL THEN
      json_build_object('project_id', w.project_id, 'name', w.name, 'field', w.field, 'kind', w.kind) END AS wanted
  FROM call_indexes w FULL JOIN ${EXISTING_INDEXES} t ON t.name = w.name
  WHERE CASE WHEN w.name IS NULL THEN TRUE WHEN t.name IS NULL THEN w.error IS NULL ELSE NOT t.is_valid END
  ORDER BY t.name IS NULL, w.created_at, name LIMIT 1`;

export const indexFailed = ({ project_id, name }: IndexDefinition, error: string) => sql`
  UPDATE call_indexes SET error = ${error} WHERE project_id = ${project_id} AND name = ${name}`;
