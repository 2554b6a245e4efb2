// Writes src/metadata.ts: what the plugin of @nestjs/swagger derives from the types and comments of DTOs and handlers.
// swc cannot derive it. nest-cli.json contains the options of the plugin. The compiler takes seconds, so a file of the
// same sources is kept. The DTOs run here, so `dist` must contain all other files of the service.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const METADATA = 'src/metadata.ts';
const FACTORY = '_OPENAPI_METADATA_FACTORY';

const files = readdirSync('src', { recursive: true }).map((name) => join('src', name));
const dtos = files.filter((file) => file.endsWith('.dto.ts')).toSorted();
const controllers = files.filter((file) => file.endsWith('.controller.ts')).toSorted();
/** DTOs and all files that they import. */
const imported = new Set(dtos);
for (const file of imported)
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/ from '(\..+)\.js'/g))
    imported.add(join(file, '..', `${name}.ts`));
const sources = [...imported, ...controllers];

const hash = createHash('sha256');
for (const file of [...sources, 'nest-cli.json', 'package-lock.json', 'scripts/api-metadata.mjs'])
  hash.update(file).update('\0').update(readFileSync(file));
const head = `// scripts/api-metadata.mjs made this file from sources with the SHA-256 ${hash.digest('hex')}.\n`;
if (existsSync(METADATA) && readFileSync(METADATA, 'utf8').startsWith(head)) process.exit();

const { default: ts } = await import('typescript');
const { before, ReadonlyVisitor } = await import('@nestjs/swagger/plugin');
const { tsConfigPath, plugins } = JSON.parse(readFileSync('nest-cli.json', 'utf8')).compilerOptions;
const { options } = plugins.find(({ name }) => name === '@nestjs/swagger');
const program = programOfSources();
const modelTexts = await describedModels();
const controllerTexts = describedControllers();
writeFileSync(
  METADATA,
  `${head}type Described = [file: Record<string, unknown>, classes: object][];

export async function metadata(): Promise<Record<'@nestjs/swagger', Record<'models' | 'controllers', Described>>> {
  const t = {
    ${dtos.map((file) => `"${importName(file)}": await import("${importName(file)}")`).join(',\n    ')},
  };
  return {
    "@nestjs/swagger": {
      models: [
        ${modelTexts.join(',\n        ')},
      ],
      controllers: [
        ${controllerTexts.join(',\n        ')},
      ],
    },
  };
}
`,
);

/** Loads no other files, because services and packages take seconds and say nothing about DTOs. */
function programOfSources() {
  const { config } = ts.readConfigFile(tsConfigPath, (file) => ts.sys.readFile(file));
  const { options: ofProject } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
  const compilerOptions = {
    ...ofProject,
    types: [],
    incremental: false,
    tsBuildInfoFile: undefined,
    declaration: false,
    sourceMap: false,
    noCheck: true,
    stableTypeOrdering: true,
  };
  const host = ts.createCompilerHost(compilerOptions);
  host.resolveModuleNameLiterals = (imports, importer) =>
    imports.map(({ text }) => {
      const file = resolve(importer, '..', text.replace(/\.js$/, '.ts'));
      const isSource = sources.includes(relative('.', file));
      return {
        resolvedModule: isSource ? { resolvedFileName: file, extension: '.ts' } : undefined,
      };
    });
  const paths = sources.map((file) => resolve(file));
  return ts.createProgram(paths, compilerOptions, host);
}

/**
 * Compiles the DTOs into `dist`, and reads the metadata that the plugin adds to them. The documented ReadonlyVisitor
 * needs no compilation, but leaves out each number and list that a decorator names by a constant.
 */
async function describedModels() {
  const plugin = { before: [before(options, program)] };
  for (const file of dtos)
    program.emit(program.getSourceFile(resolve(file)), undefined, undefined, false, plugin);
  const classes = [];
  for (const file of dtos) {
    const module = await import(pathToFileURL(resolve('dist/src', importName(file))).href);
    for (const [name, value] of Object.entries(module)) classes.push({ file, name, value });
  }
  const names = new Map(
    classes.map(({ file, name, value }) => [value, `t["${importName(file)}"].${name}`]),
  );
  return classes
    .filter(({ value }) => Object.hasOwn(value, FACTORY))
    .map(
      ({ file, name, value }) =>
        `[t["${importName(file)}"], { ${name}: ${literal(value[FACTORY](), names)} }]`,
    );
}

function describedControllers() {
  const visitor = new ReadonlyVisitor({ ...options, pathToSource: resolve('src') });
  for (const file of controllers) visitor.visit(program, program.getSourceFile(resolve(file)));
  return visitor.collect().controllers.flatMap(([file, classes]) =>
    Object.entries(classes)
      .filter(([, handlers]) => Object.keys(handlers).length > 0)
      .map(([name, handlers]) => `[await ${literal(file)}, { ${name}: ${literal(handlers)} }]`),
  );
}

/** Returns the text with which src/metadata.ts imports a file. */
function importName(file) {
  return `./${relative('src', file).replaceAll('\\', '/').replace(/\.ts$/, '.js')}`;
}

/**
 * Prints a value or a syntax node of the plugin as an expression. An answer that is no DTO has the type `Object` there,
 * which says nothing.
 */
function literal(value, names) {
  if (typeof value?.kind === 'number')
    return ts
      .createPrinter()
      .printNode(ts.EmitHint.Unspecified, value, undefined)
      .replace(', type: Object }', ' }');
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, names)).join(', ')}]`;
  if (typeof value === 'function') {
    if ([String, Number, Boolean, Object, Date].includes(value)) return value.name;
    const name = names.get(value);
    if (name) return name;
    if (/^class\b/.test(String(value))) throw new Error(`export the DTO ${value.name}`);
    return `() => ${literal(value(), names)}`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, of]) => `${JSON.stringify(name)}: ${literal(of, names)}`,
  );
  return `{ ${members.join(', ')} }`;
}
