import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { getMetadataStorage } from 'class-validator';
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

describe('a build', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'skein-built-'));
    write(
      'src/app.module.ts',
      'import { NotesModule } …\nexport class AppModule { imports = [NotesModule] }',
    );
    write(
      'src/notes/notes.module.ts',
      'import { Notes } …\nexport class NotesModule { controllers = [Notes] }',
    );
    write('src/notes/notes.controller.ts', 'export class Notes {}');
    write('ormconfig.ts', '');
    write('src/metadata.ts', described('Notes'));
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  };
  /** A class in the format of `npm run generate`. */
  const described = (name: string) =>
    `        [import("./notes/notes.controller.js"), {\n          ${name}: {\n          },\n        }],\n`;
  const refused = () => {
    const { status, stderr } = spawnSync(process.execPath, [resolve('scripts/registered.mjs')], {
      cwd: root,
      encoding: 'utf8',
    });
    return { status, said: stderr.trim() };
  };

  it('takes what its lists name', () => {
    expect(refused()).toEqual({ status: 0, said: '' });
  });

  it.each([
    [
      'src/tags/tags.module.ts',
      'TagsModule',
      'the imports of a module, src/app.module.ts at the top',
    ],
    ['src/notes/more.controller.ts', 'More', 'the controllers of its module'],
    ['src/notes/note.entity.ts', 'Note', 'the entities of ormconfig.ts'],
    ['src/platform/database/migrations/1-notes.ts', 'Notes1', 'the migrations of ormconfig.ts'],
  ])('without %s in a list is refused', (file, name, where) => {
    write(file, `export class ${name} {}`);
    expect(refused()).toEqual({ status: 1, said: `${file}: ${name} is not in ${where}` });
  });

  it('that describes a class which is gone is refused', () => {
    write('src/metadata.ts', described('Gone'));
    expect(refused()).toEqual({
      status: 1,
      said: 'src/metadata.ts describes Gone, which src/notes/notes.controller.ts does not export: run `npm run generate`',
    });
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
