import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { IsProjectId, PageDto } from './dto.js';
import { validate } from './validation.js';

class Leaf {
  @IsString() @MaxLength(3) name!: string;
}
class Base {
  @IsProjectId() project_id!: string;
}
class Tree extends Base {
  @IsOptional() @IsInt() size?: number | null;
  @IsOptional() @ValidateNested() @Type(() => Leaf) leaf?: Leaf | null;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(2)
  @ValidateNested({ each: true })
  @Type(() => Leaf)
  leaves?: Leaf[];
  @IsOptional() @IsString({ each: true }) @ArrayMaxSize(3) words?: string[];
  @IsOptional() @IsIn(['a', 'b']) letter?: string;
  @IsOptional() @ValidateNested() @Type(() => Tree) inner?: Tree;
}
const project_id = 'acme/demo';
const violationPaths = (body: unknown) => validate(Tree, body).violations.map(({ path }) => path);

it('passes a good body and names its projects', () => {
  const body = {
    project_id,
    leaf: { name: 'x' },
    leaves: [],
    words: ['a'],
    inner: { project_id: 'b/c' },
    unknown: {},
  };
  const { violations, projects } = validate(Tree, body);
  expect([violations, projects.toSorted()]).toEqual([[], ['acme/demo', 'b/c']]);
});

it('refuses unknown members where it is strict', () => {
  const body = { project_id, sise: 1, leaves: [{ name: 'x', nam: 1 }], toString: 1 };
  const { violations } = validate(Tree, body, 'tree', { isStrict: true });
  expect(violations.map(({ path }) => path)).toEqual([
    'tree.leaves[0].nam',
    'tree.sise',
    'tree.toString',
  ]);
});

it.each<[object, string[]]>([
  [{}, ['project_id']],
  [{ project_id: null }, ['project_id']],
  [{ project_id, size: '1' }, ['size']],
  [{ project_id, leaf: {} }, ['leaf.name']],
  [{ project_id, leaf: { name: 'long' } }, ['leaf.name']],
  [{ project_id, leaf: [] }, ['leaf']],
  [{ project_id, leaf: 'x' }, ['leaf']],
  [{ project_id, leaves: {} }, ['leaves']],
  [{ project_id, leaves: [{}, {}, {}] }, ['leaves']],
  [{ project_id, leaves: [{ name: 'a' }, { name: 1 }] }, ['leaves[1].name']],
  [{ project_id, leaves: [null] }, ['leaves[0]']],
  [{ project_id, words: ['a', 1] }, ['words[1]']],
  [{ project_id, words: 'a' }, ['words']],
  [{ project_id, inner: { project_id: 'x' } }, ['inner.project_id']],
])('names what is wrong in %j', (body, paths) => expect(violationPaths(body)).toEqual(paths));

it('judges a list by its length before it looks at an item', () =>
  expect(validate(Tree, { project_id, words: [1, 2, 3, 4] }).violations).toEqual([
    { path: 'words', message: 'must contain no more than 3 elements' },
  ]));

it('judges the type of a value before its size, also where a decorator brings several rules', () =>
  expect(validate(PageDto, { limit: 'x', offset: -1 }).violations).toEqual([
    { path: 'limit', message: 'must be an integer number' },
    { path: 'offset', message: 'must not be less than 0' },
  ]));

it.each([null, [], 'x', 5, undefined])('wants an object, not %j', (body) =>
  expect(violationPaths(body)).toEqual(['']),
);

it('takes null and absence for the same where a field is optional', () =>
  expect(violationPaths({ project_id, size: null, leaf: null })).toEqual([]));

it('reports one rule that a field breaks, without repeating the value', () => {
  const { violations } = validate(Tree, { project_id, leaf: { name: 5 }, letter: 'secret' });
  expect(violations).toEqual([
    { path: 'leaf.name', message: 'must be a string' },
    { path: 'letter', message: 'must be one of the following values: a, b' },
  ]);
});

it('reads own keys only', () => {
  const body = JSON.parse('{"__proto__":{"project_id":"acme/demo"}}');
  expect(violationPaths(body)).toEqual(['project_id']);
});

it('changes nothing of the body', () => {
  const json = '{"project_id":"acme/demo","leaf":{"name":"x","toString":1,"__proto__":{"a":1}}}';
  const body = JSON.parse(json);
  validate(Tree, body);
  expect(JSON.stringify(body)).toBe(json);
});

it('stops after 20 violations', () => {
  const words = Array.from({ length: 50 }, () => ({}));
  class Many {
    @ValidateNested({ each: true }) @Type(() => Leaf) leaves!: Leaf[];
  }
  expect(validate(Many, { leaves: words }).violations).toHaveLength(20);
});
