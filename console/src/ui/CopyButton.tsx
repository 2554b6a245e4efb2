import { type ComponentProps, useEffect, useState } from 'react';
import { Button } from './Button.tsx';

const SHOWN_MS = 1500;

/** Copies a text unchanged. The confirmation does not change the button's width. */
export function CopyButton({
  text,
  label = 'Copy',
  ...rest
}: { text: string | (() => string | Promise<string>); label?: string } & ComponentProps<
  typeof Button
>) {
  const [state, setState] = useState<'Copied' | 'Failed'>();
  useEffect(() => {
    if (!state) return;
    const timer = setTimeout(() => setState(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text());
      setState('Copied');
    } catch {
      setState('Failed');
    }
  };
  return (
    <Button {...rest} onClick={() => void copy()}>
      <span aria-live="polite">{state ?? label}</span>
    </Button>
  );
}
