import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { CallRow } from '../api/calls.ts';
import { allLines } from '../api/client.ts';
import controls from '../ui/controls.module.css';
import { BadFilter, parseExpression } from './filter.ts';
import { suggestions, wordAt } from './suggest.ts';
import styles from './traces.module.css';

/** So many rows are read whole, to learn which paths their documents have. */
const SAMPLE = 3;

/** A line of terms, with completion of fields and of values that are on the page. Enter applies it. */
export function FilterBar({
  project,
  value,
  rows,
  onApply,
}: {
  project: string;
  value: string;
  rows: CallRow[];
  onApply: (text: string) => void;
}) {
  const id = useId();
  const box = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const [caret, setCaret] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  useEffect(() => setText(value), [value]);

  const sample = rows.slice(0, SAMPLE).map((row) => row.id);
  const documents = useQuery({
    queryKey: ['documents', project, sample],
    queryFn: ({ signal }) =>
      allLines(
        '/calls/stream_query',
        {
          project_id: project,
          filter: { call_ids: sample },
          columns: ['inputs', 'output', 'attributes'],
        },
        signal,
      ),
    enabled: isOpen && sample.length > 0,
    staleTime: Infinity,
    retry: false,
  });
  const { word, from } = wordAt(text, caret);
  const offered = isOpen
    ? suggestions(word, rows, documents.data ?? []).filter((one) => one !== word)
    : [];
  const fault = filterFault(text);

  const take = (suggestion: string) => {
    const isField = !/[=<>~]/.test(suggestion);
    const next = `${text.slice(0, from)}${suggestion}${isField ? '' : ' '}${text.slice(caret)}`;
    const at = from + suggestion.length + (isField ? 0 : 1);
    // at once: a frame later the caret would jump back under who goes on typing
    flushSync(() => {
      setText(next);
      setActive(-1);
      setCaret(at);
    });
    box.current?.setSelectionRange(at, at);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setOpen(true);
      setActive((now) => Math.max(-1, Math.min(offered.length - 1, now + step)));
    } else if ((event.key === 'Enter' || event.key === 'Tab') && offered[active] !== undefined)
      take(offered[active]);
    else if (event.key === 'Enter') {
      setOpen(false);
      if (!fault) onApply(text.trim());
    } else if (event.key === 'Escape') {
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
        placeholder="status=error  latency>2000  op=answer  inputs.question~refund"
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
        onBlur={() => setOpen(false)}
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
        {offered.map((suggestion, n) => (
          <li
            key={suggestion}
            id={`${id}-${n}`}
            role="option"
            aria-selected={n === active}
            className={controls['item']}
            data-highlighted={n === active || undefined}
            onMouseDown={(event) => {
              event.preventDefault(); // the box keeps the focus
              take(suggestion);
            }}
          >
            {suggestion}
          </li>
        ))}
      </ul>
      <span id={`${id}-fault`} className="visually-hidden">
        {fault}
      </span>
    </div>
  );
}

function filterFault(text: string): string | undefined {
  try {
    parseExpression(text);
    return undefined;
  } catch (error) {
    if (error instanceof BadFilter) return error.message;
    throw error;
  }
}
