import { Menu as Base } from '@base-ui/react/menu';
import type { ReactNode } from 'react';
import styles from './controls.module.css';

/** A button that opens a list of things to do. */
export function Menu({
  trigger,
  className,
  label,
  children,
  side = 'bottom',
}: {
  trigger: ReactNode;
  className?: string | undefined;
  label?: string;
  children: ReactNode;
  side?: 'top' | 'bottom';
}) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger className={className} aria-label={label}>
        {trigger}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner side={side} align="start" sideOffset={4}>
          <Base.Popup className={styles['popup']}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export const MenuItem = ({ onPick, children }: { onPick: () => void; children: ReactNode }) => (
  <Base.Item className={styles['item']} onClick={onPick}>
    {children}
  </Base.Item>
);

export const MenuSeparator = () => <Base.Separator className={styles['separator']} />;
