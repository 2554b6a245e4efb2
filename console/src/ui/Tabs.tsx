import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';
import styles from './controls.module.css';

export interface Tab<T extends string> {
  value: T;
  label: ReactNode;
  content: ReactNode;
}

export function Tabs<T extends string>({
  tabs,
  value,
  onChange,
  isFull,
}: {
  tabs: Tab<T>[];
  value: T;
  onChange: (value: T) => void;
  /** Fills the available height: the content of a panel scrolls. */
  isFull?: boolean;
}) {
  return (
    <Base.Root
      className={isFull ? styles['fullTabs'] : undefined}
      value={value}
      onValueChange={(next: T) => onChange(next)}
    >
      <Base.List className={styles['tabs']} activateOnFocus>
        {tabs.map((tab) => (
          <Base.Tab key={tab.value} value={tab.value} className={styles['tab']}>
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value}>
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
