// Refuses a build that leaves a module, a controller, an entity or a migration out of the list that makes it count: nothing else of the
// build would miss it. Each is a class of a file by that name, which its list imports and names.
import { readdirSync, readFileSync } from 'node:fs';

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
if (missing.length > 0) {
  console.error(missing.join('\n'));
  process.exit(1);
}
