import { objectClass } from './object-class.js';

describe('objectClass', () => {
  const op = { kind: 'op', leaf: null, base: null };
  const plain = { kind: 'object', leaf: null, base: null };

  it.each([
    [{ _type: 'CustomWeaveType', weave_type: { type: 'Op' } }, op],
    [{ _type: 1, weave_type: { type: 'Op' } }, plain],
    [{ weave_type: { type: 'Op' } }, plain],
    [{ _type: 'CustomWeaveType', weave_type: { type: 'PIL.Image.Image' } }, plain],
    [{ _type: 'CustomWeaveType', weave_type: null }, plain],
    [null, plain],
    ['Op', plain],
    [[1, 2], plain],
    [
      { _class_name: 'Prompt', _bases: ['Object', 'BaseModel'] },
      { leaf: 'Prompt', base: 'Prompt' },
    ],
    [
      { _class_name: 'Chat', _bases: ['Prompt', 'Object', 'BaseModel'] },
      { leaf: 'Chat', base: 'Prompt' },
    ],
    [
      { _class_name: 'A', _bases: ['B', 'C', 'BaseObject', 'BaseModel'] },
      { leaf: 'A', base: 'C' },
    ],
    [{ _class_name: 'A', _bases: ['BaseModel'] }, plain],
    [{ _class_name: 'A', _bases: ['Object', 'Other'] }, plain],
    [{ _class_name: 'A', _bases: ['Other', 'BaseModel'] }, plain],
    [{ _class_name: 'A', _bases: 'Object, BaseModel' }, plain],
    [{ _bases: ['Object', 'BaseModel'] }, plain],
    [{ _class_name: 7, _bases: [8, 'Object', 'BaseModel'] }, plain],
    [
      { _class_name: 'a\0\ud800', _bases: ['Object', 'BaseModel'] },
      { leaf: 'a\ufffd\ufffd', base: 'a\ufffd\ufffd' },
    ],
  ])('of %j', (val, expected) => {
    expect(objectClass(val)).toEqual({ ...plain, ...expected });
  });
});
