import { defaultParseSearch, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { visible } from '../json/visible-text.ts';
import { Button } from '../ui/Button.tsx';
import styles from './shell.module.css';

/** The address that the console was opened with. The router later removes parameters that no page knows. */
const OPENED_ADDRESS = { path: location.pathname, search: defaultParseSearch(location.search) };
const MOST_CHARACTERS = 60;

/**
 * Lists the parameters of the address that the page ignores, so that a reader does not take the default for the wanted
 * view.
 */
export function AddressNote() {
  const known: Record<string, unknown> = useSearch({ strict: false });
  const [wrong, tell] = useState(() =>
    location.pathname === OPENED_ADDRESS.path
      ? Object.keys(OPENED_ADDRESS.search).filter((name) => known[name] === undefined)
      : [],
  );
  if (wrong.length === 0) return null;
  const asked = wrong.map(
    (name) => `${name}=${String((OPENED_ADDRESS.search as Record<string, unknown>)[name])}`,
  );
  return (
    <p role="status" className={styles['address']}>
      <span>
        This page does not know <code>{visible(asked.join(' ').slice(0, MOST_CHARACTERS))}</code> in
        the address, and ignores it.
      </span>
      <Button look="quiet" onClick={() => tell([])}>
        Close
      </Button>
    </p>
  );
}
