import { storeSetting, readSetting } from '../ui/settings.ts';
import { columnsIn, DEFAULT_COLUMNS } from './column-names.ts';

/** The columns that were chosen last in this browser, for addresses that name none. */
export function storedColumns(project: string): readonly string[] {
  return columnsIn(readSetting(`columns.${project}`)) ?? DEFAULT_COLUMNS;
}

export function storeColumns(project: string, columns: readonly string[] | undefined): void {
  storeSetting(`columns.${project}`, columns);
}
