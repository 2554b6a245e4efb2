import { useState } from 'react';
import controls from './controls.module.css';

/** Searches for a text once the reader presses Enter. An empty text ends the search. */
export function SearchBox({
  label,
  placeholder,
  value,
  onSearch,
}: {
  label: string;
  placeholder: string;
  value: string | undefined;
  onSearch: (text: string | undefined) => void;
}) {
  const [text, setText] = useState(value ?? '');
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(text.trim() || undefined);
      }}
    >
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        className={controls['input']}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </form>
  );
}
