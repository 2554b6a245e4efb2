// Checks that comments and docs are written in plain words (CONTRIBUTING.md, "How we write"). Prints each fault as
// `file:line: message`, and exits with 1 when it finds one. Arguments limit the check to files whose paths begin with
// one of them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import ts from 'typescript';

const MAX_WORDS = 28;
const MAX_LINE = 120;
const FRAGMENT = /^(Of|What|Which|Whose|Where|By|As|Those|Whether there|The same)\b/;
const VAGUE_TYPES = new Set(
  'Asked Told Found Wanted Place Part Kind Form Trip Given Item Thing State Options Target'.split(
    ' ',
  ),
);
const CHECKED = /^(src|console\/(src|e2e)|trainer|scripts|test|bench|docs)\/|^[A-Z]+\.md$/;
/** Recorded files, and migrations, which stay as they landed. */
const NOT_CHECKED =
  /^(src\/platform\/database\/migrations\/|test\/fixtures\/|CHANGELOG\.md|docs\/ledger\.md)/;

const faults = [];
const types = new Map();

const prefixes = process.argv.slice(2);
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => CHECKED.test(file) && !NOT_CHECKED.test(file))
  .filter((file) => prefixes.length === 0 || prefixes.some((prefix) => file.startsWith(prefix)));

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // deleted, but the deletion is not committed yet
  }
}

function checkScript(file, text) {
  const kind = file.endsWith('x') ? ts.ScriptKind.TSX : undefined;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, kind);
  checkComments(file, scriptComments(source, text));
  if (!/^(src|console\/src)\//.test(file)) return;
  for (const node of source.statements) {
    if (!isExportedType(node)) continue;
    const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    const name = node.name.text;
    if (VAGUE_TYPES.has(name))
      faults.push({ file, line, fault: `the exported type ${name} names no thing of the domain` });
    if (file.startsWith('src/')) types.set(name, [...(types.get(name) ?? []), { file, line }]);
  }
}

/** @returns {node is ts.InterfaceDeclaration | ts.TypeAliasDeclaration | ts.ClassDeclaration} */
const isExportedType = (/** @type {ts.Statement} */ node) =>
  (ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isClassDeclaration(node)) &&
  node.name !== undefined &&
  node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

/** Returns the comments with their first lines. Consecutive line comments are one comment. */
function scriptComments(source, text) {
  const ranges = new Map();
  const note = (found) => found?.forEach((range) => ranges.set(range.pos, range));
  const visit = (node) => {
    if (node.kind === ts.SyntaxKind.JsxText) return;
    note(ts.getLeadingCommentRanges(text, node.getFullStart()));
    note(ts.getTrailingCommentRanges(text, node.getEnd()));
    node.getChildren(source).forEach(visit);
  };
  visit(source);
  const comments = [];
  for (const { pos, end, kind } of [...ranges.values()].toSorted((a, b) => a.pos - b.pos)) {
    const raw = text.slice(pos, end);
    const { line } = source.getLineAndCharacterOfPosition(pos);
    if (kind === ts.SyntaxKind.MultiLineCommentTrivia) {
      const lines = raw
        .replace(/^\/\*+!?|\*+\/$/g, '')
        .split('\n')
        .map((one) => one.replace(/^\s*\*?\s?/, '').trimEnd());
      comments.push({
        line: line + 1,
        lines,
        rawLines: linesAt(text, pos, end),
      });
      continue;
    }
    const last = comments.at(-1);
    const one = raw.replace(/^\/\/\s?/, '');
    if (last?.isLine && last.next === line && isAlone(text, pos)) {
      last.lines.push(one);
      last.rawLines.push(...linesAt(text, pos, end));
      last.next++;
    } else
      comments.push({
        line: line + 1,
        lines: [one],
        isLine: true,
        next: line + 1,
        rawLines: isAlone(text, pos) ? linesAt(text, pos, end) : [],
      });
  }
  return comments;
}

const isAlone = (text, pos) => /^\s*$/.test(text.slice(text.lastIndexOf('\n', pos - 1) + 1, pos));
const linesAt = (text, pos, end) => {
  const stop = text.indexOf('\n', end);
  return text.slice(text.lastIndexOf('\n', pos - 1) + 1, stop < 0 ? text.length : stop).split('\n');
};

function hashComments(text, mark) {
  const comments = [];
  text.split('\n').forEach((raw, i) => {
    if (!mark.test(raw)) return;
    const last = comments.at(-1);
    if (last?.next === i) {
      last.lines.push(raw.replace(mark, ''));
      last.rawLines.push(raw);
      last.next++;
    } else
      comments.push({
        line: i + 1,
        lines: [raw.replace(mark, '')],
        next: i + 1,
        rawLines: [raw],
      });
  });
  return comments;
}

function pythonComments(text) {
  const comments = hashComments(text, /^\s*#(?!!)\s?/);
  for (const match of text.matchAll(/^[ \t]*(?:"""([\s\S]*?)""")/gm)) {
    const line = text.slice(0, match.index).split('\n').length;
    const lines = match[1].split('\n').map((one) => one.trim());
    comments.push({ line, lines, rawLines: match[0].split('\n') });
  }
  return comments;
}

function checkComments(file, comments) {
  for (const { line, lines, rawLines } of comments) {
    if (
      lines.some((one) =>
        /^(eslint|oxlint|prettier|@ts-|v8 ignore|jscpd|#\s*(type|noqa))/.test(one.trim()),
      )
    )
      continue;
    const first = lines.find((one) => one.trim() !== '')?.trim() ?? '';
    if (FRAGMENT.test(first))
      faults.push({ file, line, fault: `a comment begins with a fragment: ${first.slice(0, 60)}` });
    rawLines.forEach((raw, i) => {
      if (raw.length > MAX_LINE && !/https?:\/\//.test(raw))
        faults.push({
          file,
          line: line + i,
          fault: `a comment line has ${raw.length} characters; ${MAX_LINE} at most`,
        });
    });
    for (const paragraph of splitParagraphs(lines.map((one, i) => ({ text: one, line: line + i }))))
      checkSentences(file, paragraph);
  }
}

/** Returns paragraphs of Markdown without code, tables, headings and HTML comments. */
function paragraphs(text) {
  let isCode = false;
  const lines = text.split('\n').map((one, i) => {
    if (/^\s*(```|~~~)/.test(one)) {
      isCode = !isCode;
      return { text: '', line: i + 1 };
    }
    const isText = !isCode && !/^\s*(\||#|<!--|!\[)/.test(one);
    return { text: isText ? one : '', line: i + 1 };
  });
  return splitParagraphs(lines);
}

/** Splits lines into paragraphs. A blank line, a list item and a tag each begin a new paragraph. */
function splitParagraphs(lines) {
  const blocks = [[]];
  for (const one of lines) {
    const isBreak = one.text.trim() === '' || /^\s*([-*+]|\d+[.)]|@\w+|>)\s/.test(one.text);
    if (isBreak) blocks.push([]);
    if (one.text.trim() !== '') blocks.at(-1).push(one);
  }
  return blocks.filter((block) => block.length > 0);
}

function checkSentences(file, block) {
  const text = block
    .map((one) => one.text.trim())
    .join(' ')
    .replace(/^([-*+]|\d+[.)]|>)\s+/, '')
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\b(e\.g|i\.e|etc|vs|cf)\./g, '$1');
  for (const sentence of text.split(/(?<=[.!?:;])["')*_]*\s+(?=[^\s])/)) {
    const words = sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    if (words > MAX_WORDS)
      faults.push({
        file,
        line: block[0].line,
        fault: `a sentence has ${words} words, ${MAX_WORDS} at most: ${sentence.slice(0, 70)}…`,
      });
  }
}

for (const file of files) {
  const text = read(file);
  if (text === undefined) continue;
  const extension = file.slice(file.lastIndexOf('.') + 1);
  if (/^[cm]?[jt]sx?$/.test(extension)) checkScript(file, text);
  else if (extension === 'sql') checkComments(file, hashComments(text, /^\s*--\s?/));
  else if (extension === 'py') checkComments(file, pythonComments(text));
  else if (extension === 'md') for (const block of paragraphs(text)) checkSentences(file, block);
}
for (const [name, places] of types)
  if (places.length > 1)
    for (const { file, line } of places)
      faults.push({
        file,
        line,
        fault: `the exported type ${name} has a namesake: ${places.length} of them`,
      });

for (const { file, line, fault } of faults) console.log(`${file}:${line}: ${fault}`);
console.log(`${faults.length} faults of words in ${files.length} files`);
process.exitCode = faults.length > 0 ? 1 : 0;
