import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ModulesContainer } from '@nestjs/core';
import { getMetadataStorage } from 'class-validator';
import { getMetadataArgsStorage } from 'typeorm';
import { assertRegistered } from '../../src/server/registered.js';
import { CallsController } from '../../src/tracing/calls/calls.controller.js';
import { useApp } from '../support/app.js';

const ROOT = resolve('src');
const FILES = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/[.](spec|d)[.]ts$/.test(name))
  .toSorted();

/** The classes that the matching files export, with their files. */
async function classesOf(files: RegExp): Promise<[file: string, exported: Function][]> {
  const found: [string, Function][] = [];
  for (const name of FILES.filter((file) => files.test(file)))
    for (const exported of Object.values(await import(join(ROOT, name))))
      if (typeof exported === 'function' && /^class\b/.test(String(exported)))
        found.push([name, exported]);
  return found;
}

const app = useApp();

it('every module, controller, entity and migration is in its list', async () => {
  const modules = [...app.app.get(ModulesContainer).values()];
  const lists: [files: RegExp, list: readonly unknown[]][] = [
    [/(?<!app)[.]module[.]ts$/, modules.map(({ metatype }) => metatype)],
    [/[.]controller[.]ts$/, modules.flatMap(({ controllers }) => [...controllers.keys()])],
    [/[.]entity[.]ts$/, app.dataSource.entityMetadatas.map(({ target }) => target)],
    [/database.migrations.\d/, Object.values(app.dataSource.options.migrations!)],
  ];
  for (const [files, list] of lists) {
    const classes = await classesOf(files);
    expect(classes.length).toBeGreaterThan(20);
    expect(classes.filter(([, exported]) => !list.includes(exported))).toEqual([]);
  }
});

describe('a start', () => {
  const start = (...more: Function[]) => assertRegistered(app.app, app.dataSource, more);

  it('without a controller in a module, or a module in a list, is refused', () => {
    expect(() => start(CallsController, class Notes {})).toThrow(
      /^Notes is in no module that src\/app.module.ts imports$/,
    );
  });

  it('without an entity in a list is refused', () => {
    const { tables } = getMetadataArgsStorage();
    tables.push({ target: class Note {}, type: 'regular', name: 'notes' });
    expect(() => start()).toThrow(/^Note is not in the entities of ormconfig.ts$/);
    tables.pop();
  });
});

it('package-lock.json says where each package is, else npm ci asks the registry for each', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const without = Object.entries<{ resolved?: string }>(packages).filter(
    ([name, { resolved }]) => name.startsWith('node_modules/') && !resolved,
  );
  expect(without).toEqual([]);
});

it('no two DTOs have one name, which openapi.json would take for one class', async () => {
  const names = (await classesOf(/[.]dto[.]ts$/)).map(([, { name }]) => name);
  expect(names.length).toBeGreaterThan(100);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

it('every table has an entity', async () => {
  const tables = await app.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname NOT IN ('migrations', 'sql_files')`,
  );
  const known = app.dataSource.entityMetadatas.map(({ tableName }) => tableName);
  expect(tables.map(({ name }) => name).toSorted()).toEqual(known.toSorted());
});

it('the service describes itself as openapi.json does', async () => {
  const answer = await fetch(`${app.url}/openapi.json`);
  expect(await answer.json()).toEqual(JSON.parse(readFileSync('generated/openapi.json', 'utf8')));
});

it('every field of a class in *.dto.ts is in openapi.json, where the class is', async () => {
  const { schemas } = JSON.parse(readFileSync('generated/openapi.json', 'utf8')).components;
  const missing: string[] = [];
  for (const [file, dto] of await classesOf(/[.]dto[.]ts$/)) {
    const fields = schemas[dto.name] ? Object.keys(new (dto as new () => object)()) : [];
    for (const field of fields)
      if (!(field in (schemas[dto.name].properties ?? {})))
        missing.push(`${dto.name}.${field} of ${file} needs @ApiProperty()`);
  }
  expect(missing).toEqual([]);
});

/** Texts and lists that have a limit elsewhere instead of a validation rule. */
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
