import styles from './json.module.css';
import type { Block, Inline } from './markdown.ts';
import { visible } from './visible-text.ts';

/** Shows a text with its structure. It contains no HTML, loads nothing, and its addresses are no links. */
export const Markdown = ({ blocks }: { blocks: readonly Block[] }) => (
  <div className={styles['markdown']}>
    {blocks.map((block, n) => (
      <BlockView key={n} block={block} />
    ))}
  </div>
);

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case 'code':
      return <pre>{visible(block.text)}</pre>;
    case 'list': {
      const items = block.items.map((inlines, n) => (
        <li key={n}>
          <Inlines of={inlines} />
        </li>
      ));
      return block.isNumbered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case 'table':
      return (
        <div className={styles['table']} tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead>
              <Row cells={block.head} as="th" />
            </thead>
            <tbody>
              {block.rows.map((cells, n) => (
                <Row key={n} cells={cells} as="td" />
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'heading':
      return (
        <p>
          <b>
            <Inlines of={block.inlines} />
          </b>
        </p>
      );
    case 'quote':
      return (
        <blockquote>
          <Inlines of={block.inlines} />
        </blockquote>
      );
    default:
      return (
        <p>
          <Inlines of={block.inlines} />
        </p>
      );
  }
}

const Row = ({ cells, as: Cell }: { cells: readonly (readonly Inline[])[]; as: 'th' | 'td' }) => (
  <tr>
    {cells.map((inlines, n) => (
      <Cell key={n}>
        <Inlines of={inlines} />
      </Cell>
    ))}
  </tr>
);

const Inlines = ({ of }: { of: readonly Inline[] }) =>
  of.map(({ kind, text, address = '' }, n) => {
    const shown = visible(text);
    if (kind === 'strong') return <strong key={n}>{shown}</strong>;
    if (kind === 'emphasis') return <em key={n}>{shown}</em>;
    if (kind === 'code') return <code key={n}>{shown}</code>;
    if (kind === 'text') return shown;
    return (
      <span key={n}>
        {kind === 'image' && 'Picture '}
        {shown} <code className={styles['address']}>{visible(address)}</code>
      </span>
    );
  });
