// Refuses a build in which a module, a controller, an entity or a migration is missing from its list: no other step
// of the build would find this. A class counts when its list imports it and names it. Also refuses a src/metadata.ts
// that describes a class that no longer exists, because the service would not start with it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const sources = readdirSync('src', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => `${entry.parentPath}/${entry.name}`);
const named = (ending) => sources.filter((file) => file.endsWith(ending));
const modules = named('.module.ts');
const KINDS = [
  {
    files: modules.filter((file) => file !== 'src/app.module.ts'),
    lists: modules,
    where: 'the imports of a module, src/app.module.ts at the top',
  },
  { files: named('.controller.ts'), lists: modules, where: 'the controllers of its module' },
  { files: named('.entity.ts'), lists: ['ormconfig.ts'], where: 'the entities of ormconfig.ts' },
  {
    files: sources.filter((file) => /database\/migrations\/\d/.test(file)),
    lists: ['ormconfig.ts'],
    where: 'the migrations of ormconfig.ts',
  },
];

const texts = new Map();
const textOf = (file) => {
  if (!texts.has(file)) texts.set(file, readFileSync(file, 'utf8'));
  return texts.get(file);
};

const missing = KINDS.flatMap(({ files, lists, where }) =>
  files.flatMap((file) =>
    [...textOf(file).matchAll(/^export class (\w+)/gm)]
      .filter(([, name]) => {
        const mention = new RegExp(`\\b${name}\\b`, 'g');
        return !lists.some((list) => list !== file && textOf(list).match(mention)?.length > 1);
      })
      .map(([, name]) => `${file}: ${name} is not in ${where}`),
  ),
);
const gone = [];
let described = '';
for (const line of textOf('src/metadata.ts').split('\n')) {
  described = /^ +\[import\("\.\/(.+)\.js"\), \{$/.exec(line)?.[1] ?? described;
  const name = /^ {10}(\w+): \{/.exec(line)?.[1];
  if (name && !isExported(name, `src/${described}.ts`))
    gone.push(
      `src/metadata.ts describes ${name}, which src/${described}.ts does not export: run \`npm run generate\``,
    );
}

function isExported(name, file) {
  const declared = new RegExp(`^export (abstract )?class ${name}\\b`, 'm');
  return existsSync(file) && declared.test(textOf(file));
}

const wrong = [...missing, ...gone];
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
