import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

/** SQL that only plans.ts may write. */
const RAW = /\bOFFSET 0\b|(?<!citus[.])\benable_|\) IS TRUE\b|\bLIMIT \(SELECT\b/i;

/** Files that may write it too: functions in the database cannot import plans.ts. */
const MAY =
  /^tracing\/(calls\/ingest\/ingest|agents\/agents)[.]sql|^platform\/(query\/plans[.]ts|database\/(migrations\/|older-builds[.]sql))/;

/** Returns the parts of a file that may be SQL, without comments. */
function sqlTexts(file: string): string[] {
  const text = readFileSync(`src/${file}`, 'utf8');
  if (file.endsWith('.sql')) return [text.replaceAll(/--.*/g, '')];
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node)
    )
      texts.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.ESNext));
  return texts;
}

it('forms that fight the planner are written by their names in plans.ts', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (file) => /(?<![.]spec|[.]d)[.]ts$|[.]sql$/.test(file) && !MAY.test(file),
  );
  expect(files.length).toBeGreaterThan(200);
  const raw = files.filter((file) => sqlTexts(file).some((text) => RAW.test(text)));
  expect(raw).toEqual([]);
  expect(sqlTexts('platform/query/plans.ts').some((text) => RAW.test(text))).toBe(true);
});
