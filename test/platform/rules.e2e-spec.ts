import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ModulesContainer } from '@nestjs/core';
import { getMetadataStorage } from 'class-validator';
import { useApp } from '../support/app.js';

const ROOT = resolve('src');
const FILES = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/[.](spec|d)[.]ts$/.test(name))
  .toSorted();

/** The files that match, with the classes that they export. */
async function classesOf(files: RegExp): Promise<[file: string, exported: Function][]> {
  const found: [string, Function][] = [];
  for (const name of FILES.filter((file) => files.test(file)))
    for (const exported of Object.values(await import(join(ROOT, name))))
      if (typeof exported === 'function' && /^class\b/.test(String(exported)))
        found.push([name, exported]);
  return found;
}

const COMMENT = /\/\*[^]*?\*\/|\/\/ .*/g;
const TABLE_NAMED = /\b(?:FROM|JOIN|INTO|UPDATE|USING|TABLE)\s+(?:ONLY\s+)?(\w+)/g;

/** The tables of others that a feature's statements name. Who changes such a table looks here first. */
const READS: Record<string, string[]> = {
  'platform/erasing': ['uploads'],
  tracing: ['feedback'],
  'tracing/calls': ['feedback'],
  'tracing/costs': ['calls'],
  'tracing/projects': ['call_slot_marks'],
  'tracing/threads': ['calls'],
  training: ['checkpoints', 'models'],
  'training/jobs': ['checkpoints', 'models', 'trajectories', 'trajectory_batches'],
  'training/models': ['trajectory_batches'],
  'training/builds': ['calls', 'checkpoints', 'feedback', 'models', 'training_jobs'],
};

const app = useApp();

const namesOf = (list: [string, Function][]) =>
  list.map(([file, { name }]) => `${name} of ${file}`);

describe('what is written', () => {
  it('is registered: modules in src/app.module.ts, controllers in their modules', async () => {
    const modules = [...app.app.get(ModulesContainer).values()];
    const known = new Set<unknown>(
      modules.flatMap(({ metatype, controllers }) => [
        metatype,
        ...[...controllers.values()].map((controller) => controller.metatype),
      ]),
    );
    const written = [
      ...(await classesOf(/[.]module[.]ts$/)),
      ...(await classesOf(/[.]controller[.]ts$/)),
    ];
    expect(written.length).toBeGreaterThan(20);
    expect(namesOf(written.filter(([, exported]) => !known.has(exported)))).toEqual([]);
  });

  it('is registered: entities and migrations in ormconfig.ts', async () => {
    const { entityMetadatas, migrations } = app.dataSource;
    const known = new Set<unknown>([
      ...entityMetadatas.map(({ target }) => target),
      ...migrations.map((migration) => migration.constructor),
    ]);
    const written = [
      ...(await classesOf(/[.]entity[.]ts$/)),
      ...(await classesOf(/^platform\/database\/migrations\//)),
    ];
    expect(written.length).toBeGreaterThan(20);
    expect(namesOf(written.filter(([, exported]) => !known.has(exported)))).toEqual([]);
  });
});

it('every table has an entity', async () => {
  const tables = await app.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname NOT IN ('migrations', 'sql_files')`,
  );
  const known = app.dataSource.entityMetadatas.map(({ tableName }) => tableName);
  expect(tables.map(({ name }) => name).toSorted()).toEqual(known.toSorted());
});

it('features name the tables of other features in their statements only as declared', () => {
  const roomOf = (file: string) => file.split('/').slice(0, -1).slice(0, 2).join('/');
  const owners = new Map<string, string>();
  for (const file of FILES.filter((name) => name.endsWith('.entity.ts')))
    owners.set(
      /@(?:Entity|ProjectTable)\('(\w+)'/.exec(readFileSync(join(ROOT, file), 'utf8'))![1]!,
      roomOf(file),
    );
  const read = new Set<string>();
  const faults: string[] = [];
  for (const file of FILES.filter((name) => !name.startsWith('platform/database/migrations/'))) {
    const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(COMMENT, '');
    const room = roomOf(file);
    for (const [, table] of text.matchAll(TABLE_NAMED)) {
      const isQuery = new RegExp(`\\b${table} AS (NOT )?(MATERIALIZED )?\\(`).test(text); // of WITH
      const owner = owners.get(table!);
      if (!owner || owner === room || isQuery) continue;
      read.add(`${room} ${table}`);
      if (!READS[room]?.includes(table!))
        faults.push(`${file} names ${table}: ask a service of ${owner}, or add it to READS`);
    }
  }
  expect(faults).toEqual([]);
  const declared = Object.entries(READS).flatMap(([room, tables]) =>
    tables.map((table) => `${room} ${table}`),
  );
  expect(declared.filter((entry) => !read.has(entry))).toEqual([]);
});

it('every field of a class in *.dto.ts is in openapi.json, where the class is', async () => {
  const { schemas } = JSON.parse(readFileSync('openapi.json', 'utf8')).components;
  const missing: string[] = [];
  for (const [file, dto] of await classesOf(/[.]dto[.]ts$/)) {
    const fields = schemas[dto.name] ? Object.keys(new (dto as new () => object)()) : [];
    for (const field of fields)
      if (!(field in (schemas[dto.name].properties ?? {})))
        missing.push(`${dto.name}.${field} of ${file} needs @ApiProperty()`);
  }
  expect(missing).toEqual([]);
});

/** What bounds a text or a list in place of a rule. */
const BOUNDED: Record<string, string> = {
  'CallsCompleteDto.batch': 'the service counts it',
  'UpsertBatchDto.batch': 'the service counts it',
  'FailDto.error_message': 'the service cuts it',
};

it('texts and lists of bodies have a bound', async () => {
  const storage = getMetadataStorage();
  const bounds = {
    isString: /^(matches|maxLength|isLength)$/,
    isArray: /^(arrayMaxSize|maxItems)$/,
  };
  const unbounded: string[] = [];
  for (const [file, dto] of await classesOf(/dto[.]ts$/)) {
    const rules = storage.getTargetValidationMetadatas(dto, '', true, false);
    for (const [type, bound] of Object.entries(bounds))
      for (const { propertyName } of rules.filter(({ name }) => name === type)) {
        const field = `${dto.name}.${propertyName}`;
        const isBounded = (rule: (typeof rules)[number]) =>
          rule.propertyName === propertyName && bound.test(rule.name ?? '');
        if (!rules.some(isBounded) && !BOUNDED[field])
          unbounded.push(
            `${field} of ${file} needs @IsText(max), @ArrayMaxSize(max) or @MaxItems(max)`,
          );
      }
  }
  expect(unbounded).toEqual([]);
});
