// Makes the text of src/metadata.ts: what the plugin of @nestjs/swagger derives from the types and comments of DTOs
// and handlers. swc cannot derive it. nest-cli.json contains the options of the plugin.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { before, ReadonlyVisitor } from '@nestjs/swagger/plugin';
import ts from 'typescript';

const { tsConfigPath, plugins } = JSON.parse(readFileSync('nest-cli.json', 'utf8')).compilerOptions;
const { options } = plugins.find(({ name }) => name === '@nestjs/swagger');
const METADATA = resolve('src/metadata.ts');
const FACTORY = '_OPENAPI_METADATA_FACTORY';
const EMPTY = 'export const metadata = async () => ({});';

export async function apiMetadata() {
  const program = programWithoutMetadata();
  const models = await modelsOf(program);
  const controllers = controllersOf(program);
  const used = [...`${models}${controllers}`.matchAll(/\bt\["(.+?)"\]/g)].map(([, file]) => file);
  const files = [...new Set(used)].toSorted();
  return `// What @nestjs/swagger knows by types and comments, printed by \`npm run generate\`.
export async function metadata(): Promise<Record<string, unknown>> {
  const t = {
${files.map((file) => `    "${file}": await import("${file}"),\n`).join('')}  };
  return {
    "@nestjs/swagger": {
      models: [
${models}      ],
      controllers: [
${controllers}      ],
    },
  };
}
`;
}

/** Loads the sources of the service with an empty src/metadata.ts: the output must not depend on the last output. */
function programWithoutMetadata() {
  const { config } = ts.readConfigFile(tsConfigPath, (file) => ts.sys.readFile(file));
  const { fileNames, options: ofProject } = ts.parseJsonConfigFileContent(
    config,
    ts.sys,
    process.cwd(),
  );
  const compilerOptions = {
    ...ofProject,
    incremental: false,
    tsBuildInfoFile: undefined,
    declaration: false,
    sourceMap: false,
  };
  const host = ts.createCompilerHost(compilerOptions);
  const read = host.readFile.bind(host);
  host.readFile = (file) => (resolve(file) === METADATA ? EMPTY : read(file));
  return ts.createProgram(fileNames, compilerOptions, host);
}

/**
 * Compiles the classes, and reads the metadata that the plugin adds to them. The documented ReadonlyVisitor needs no
 * compilation, but leaves out each number and list that a decorator names by a constant.
 */
async function modelsOf(program) {
  mkdirSync('dist', { recursive: true });
  const folder = mkdtempSync('dist/metadata-');
  try {
    const { outDir } = program.getCompilerOptions();
    const write = (file, text) => ts.sys.writeFile(resolve(folder, relative(outDir, file)), text);
    program.emit(undefined, write, undefined, false, { before: [before(options, program)] });
    const files = program
      .getSourceFiles()
      .map(({ fileName }) => relative('src', fileName).replace(/\.ts$/, '.js'))
      .filter((file) => file.endsWith('.dto.js'))
      .toSorted();
    const modules = new Map();
    for (const file of files)
      modules.set(`./${file}`, await import(pathToFileURL(join(folder, 'src', file)).href));
    const names = new Map();
    for (const [file, module] of modules)
      for (const [name, value] of Object.entries(module)) names.set(value, `t["${file}"].${name}`);
    return [...modules].map(([file, module]) => model(file, module, names)).join('');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function model(file, module, names) {
  const lines = Object.entries(module)
    .filter(([, value]) => Object.hasOwn(value, FACTORY))
    .map(([name, value]) => `${name}: ${literal(value[FACTORY](), names)}`);
  return section(file, lines);
}

const BUILT_IN = new Map([String, Number, Boolean, Object, Date].map((type) => [type, type.name]));

/** Prints a value of the plugin as an expression. */
function literal(value, names) {
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, names)).join(', ')}]`;
  if (typeof value === 'function') {
    const name = BUILT_IN.get(value) ?? names.get(value);
    if (name) return name;
    if (/^class\b/.test(String(value))) throw new Error(`export the DTO ${value.name}`);
    return `() => ${literal(value(), names)}`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, of]) => `${key(name)}: ${literal(of, names)}`);
  return `{ ${members.join(', ')} }`;
}

const key = (name) => (/^\w+$/.test(name) ? name : JSON.stringify(name));

const printer = ts.createPrinter();

function controllersOf(program) {
  const visitor = new ReadonlyVisitor({ ...options, pathToSource: resolve('src') });
  for (const file of program.getSourceFiles())
    if (file.fileName.endsWith('.controller.ts')) visitor.visit(program, file);
  const print = (node) => printer.printNode(ts.EmitHint.Unspecified, node, undefined);
  return visitor
    .collect()
    .controllers.map(([imported, classes]) => {
      const lines = Object.entries(classes)
        .filter(([, handlers]) => Object.keys(handlers).length > 0)
        .map(([name, handlers]) => {
          const of = Object.entries(handlers).map(
            ([handler, node]) => `${handler}: ${print(node)}`,
          );
          return `${name}: {\n${of.map((line) => `            ${line},\n`).join('')}          }`;
        });
      return section(/"(.+)"/.exec(print(imported))[1], lines);
    })
    .toSorted()
    .join('');
}

/** Prints the entry of a file; an empty text for a file without metadata. */
const section = (file, lines) =>
  lines.length === 0
    ? ''
    : `        [import("${file}"), {\n${lines.map((line) => `          ${line},\n`).join('')}        }],\n`;
