import { storeSetting, readSetting } from '../ui/settings.ts';
import { columnsIn, DEFAULT_COLUMNS } from './column-names.ts';

/** The columns last chosen in this browser, for an address without columns. */
export function storedColumns(project: string): readonly string[] {
  return columnsIn(readSetting(`columns.${project}`)) ?? DEFAULT_COLUMNS;
}

export function storeColumns(project: string, columns: readonly string[] | undefined): void {
  storeSetting(`columns.${project}`, columns);
}
