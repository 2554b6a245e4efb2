import { markdown } from './markdown.js';

const text = (of: string) => ({ kind: 'text', text: of });

describe('markdown', () => {
  it('finds blocks and what is in their lines', () => {
    expect(
      markdown(
        '# Title\nIt is **bold**, *so* `a*b*`.\nNext\n\n- one\n- [two](https://x.y/z)\n1. three\n> said\n```js\n# no title\n```\n![p](http://i)',
      ),
    ).toEqual([
      { kind: 'heading', inlines: [text('Title')] },
      {
        kind: 'paragraph',
        inlines: [
          text('It is '),
          { kind: 'strong', text: 'bold' },
          text(', '),
          { kind: 'emphasis', text: 'so' },
          text(' '),
          { kind: 'code', text: 'a*b*' },
          text('.\nNext'),
        ],
      },
      {
        kind: 'list',
        isNumbered: false,
        items: [
          [text('one')],
          [{ kind: 'link', text: 'two', address: 'https://x.y/z' }],
          [text('three')],
        ],
      },
      { kind: 'quote', inlines: [text('said')] },
      { kind: 'code', text: '# no title' },
      { kind: 'paragraph', inlines: [{ kind: 'image', text: 'p', address: 'http://i' }] },
    ]);
  });

  it('reads tables, also below a line of text', () => {
    const table = 'Sky:\n| City | Sky |\n|:-----|----:|\n| **Rome** | sunny |\n| a \\| b |\nend';
    expect(markdown(table)).toEqual([
      { kind: 'paragraph', inlines: [text('Sky:')] },
      {
        kind: 'table',
        head: [[text('City')], [text('Sky')]],
        rows: [[[{ kind: 'strong', text: 'Rome' }], [text('sunny')]], [[text('a | b')]]],
      },
      { kind: 'paragraph', inlines: [text('end')] },
    ]);
    expect(markdown('a | b\n--|--\n1 | 2')).toMatchObject([{ kind: 'table' }]);
  });

  it.each(['a | b', 'a | b\n---', 'a | b\n--- | --- | ---', 'a\n---', '||\nx'])(
    'reads no table in %j',
    (plain) => expect(markdown(plain)).toBeUndefined(),
  );

  it.each(['plain', 'two\nlines', '2 * 3 * 4', 'snake*case*name', '', 'a [b] (c)', '#hash'])(
    'leaves %j as it is',
    (plain) => expect(markdown(plain)).toBeUndefined(),
  );

  it.each(['[', '`', '**', '![a](', '> ', '- ', '```\n', '# ', '|', '|\n', '|-|\n', '|-\n|'])(
    'reads much of %j',
    (one) => {
      expect(() => markdown(one.repeat(100_000 / one.length))).not.toThrow();
    },
  );
});
