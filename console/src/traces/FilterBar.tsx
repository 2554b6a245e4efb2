import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { CallRow } from '../api/calls.ts';
import { visible } from '../json/visible-text.ts';
import controls from '../ui/controls.module.css';
import { InvalidFilter, parseExpression } from './filter.ts';
import { completionQuery, sampleDocumentsQuery } from './queries.ts';
import styles from './traces.module.css';

type Completion = typeof import('./suggestions.ts');
type SeenValues = import('./suggestions.ts').SeenValues;

/** Suggestions at the caret, without the text that is already typed. */
function completionsAt(
  completion: Completion | undefined,
  { text, caret, ...seen }: SeenValues & { text: string; caret: number },
) {
  if (!completion) return { from: caret, offered: [] };
  const place = completion.placeAt(text, caret);
  const typed = text.slice(place.from, caret);
  const offered = completion.suggestions(place, seen);
  return { from: place.from, offered: offered.filter((one) => one.text !== typed) };
}

/** Rows that are read whole to find the paths in their documents. */
const SAMPLE = 3;

/**
 * Edits the filter, with completion of fields and of values from the page. Enter applies it. A filter that cannot be
 * parsed shows its fault at the place of it.
 */
export function FilterBar({
  project,
  value,
  shown,
  onApply,
}: {
  project: string;
  value: string;
  /** The rows of the list. */
  shown: RefObject<CallRow[]>;
  onApply: (text: string) => void;
}) {
  const id = useId();
  const client = useQueryClient();
  const box = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const [caret, setCaret] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const [tried, setTried] = useState(value);
  useEffect(() => {
    setText(value);
    setTried(value);
  }, [value]);

  const rows = isOpen ? shown.current : [];
  const sample = rows.slice(0, SAMPLE).map((row) => row.id);
  const isAsked = isOpen && sample.length > 0;
  const documents = useQuery({ ...sampleDocumentsQuery(project, sample), enabled: isAsked });
  const { data: completion } = useQuery({ ...completionQuery, enabled: isOpen });
  const { from, offered } = completionsAt(isOpen ? completion : undefined, {
    text,
    caret,
    rows,
    documents: documents.data ?? [],
    tags: completion?.seenTags(client, project) ?? [],
  });
  const fault = filterFault(text);

  const take = (suggestion: string) => {
    const isField = !/[=<>~]/.test(suggestion);
    const isBegun = isField || /[=<>~]$/.test(suggestion);
    const next = `${text.slice(0, from)}${suggestion}${isBegun ? '' : ' '}${text.slice(caret)}`;
    const at = from + suggestion.length + (isBegun ? 0 : 1);
    // synchronously: React's next frame would move the caret back while the user types on
    flushSync(() => {
      setText(next);
      setActive(-1);
      setCaret(at);
    });
    box.current?.setSelectionRange(at, at);
  };
  const apply = () => {
    setOpen(false);
    setTried(text);
    if (fault) box.current?.setSelectionRange(fault.from, fault.to);
    else onApply(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setOpen(true);
      setActive((now) => Math.max(-1, Math.min(offered.length - 1, now + step)));
    } else if ((event.key === 'Enter' || event.key === 'Tab') && offered[active] !== undefined)
      take(offered[active].text);
    else if (event.key === 'Enter') apply();
    else if (event.key === 'Escape') {
      setOpen(false);
      setActive(-1);
    } else return;
    event.preventDefault();
  };
  return (
    <div className={styles['filter']}>
      <input
        ref={box}
        role="combobox"
        aria-label="Filter"
        aria-expanded={offered.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={offered[active] === undefined ? undefined : `${id}-${active}`}
        aria-invalid={fault !== undefined || undefined}
        aria-describedby={`${id}-fault`}
        className={controls['input']}
        placeholder="refund  status=error  latency>2s  op=a OR op=b"
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => {
          setText(target.value);
          setCaret(target.selectionStart ?? target.value.length);
          setActive(-1);
          setOpen(true);
        }}
        onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart ?? 0)}
        onFocus={() => setOpen(true)}
        onBlur={() => {
          setOpen(false);
          setTried(text);
        }}
        onKeyDown={onKeyDown}
      />
      {text !== '' && (
        <button
          type="button"
          className={styles['clear']}
          aria-label="Clear the filter"
          onClick={() => {
            setText('');
            onApply('');
          }}
        >
          ×
        </button>
      )}
      <ul
        id={`${id}-list`}
        role="listbox"
        aria-label="Suggestions"
        className={`${controls['popup']} ${styles['suggestions']}`}
        hidden={offered.length === 0}
      >
        {offered.map(({ text: suggestion, about }, n) => (
          <li
            key={suggestion}
            id={`${id}-${n}`}
            role="option"
            aria-selected={n === active}
            aria-label={suggestion}
            className={`${controls['item']} ${styles['suggestion']}`}
            data-highlighted={n === active || undefined}
            onMouseDown={(event) => {
              event.preventDefault(); // the box keeps the focus
              take(suggestion);
            }}
          >
            {suggestion} <small>{about}</small>
          </li>
        ))}
      </ul>
      <div id={`${id}-fault`} role="status">
        {fault && tried === text && <FilterFault text={text} fault={fault} />}
      </div>
    </div>
  );
}

const FilterFault = ({
  text,
  fault: { from, to, message },
}: {
  text: string;
  fault: InvalidFilter;
}) => (
  <p className={styles['fault']}>
    <code>
      {visible(text.slice(0, from))}
      <mark>{visible(text.slice(from, to))}</mark>
      {visible(text.slice(to))}
    </code>
    {message}
  </p>
);

function filterFault(text: string): InvalidFilter | undefined {
  try {
    parseExpression(text);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidFilter) return error;
    throw error;
  }
}
