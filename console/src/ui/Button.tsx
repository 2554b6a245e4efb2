import type { ComponentProps } from 'react';
import styles from './controls.module.css';

type Look = 'primary' | 'quiet' | 'danger';

/** The class of a button, also used for links that look like one. */
export const buttonClass = (look?: Look): string =>
  look ? `${styles['button']} ${styles[look]}` : styles['button']!;

export function Button({
  look,
  className,
  ...rest
}: ComponentProps<'button'> & { look?: Look | undefined }) {
  return <button type="button" {...rest} className={`${buttonClass(look)} ${className ?? ''}`} />;
}
