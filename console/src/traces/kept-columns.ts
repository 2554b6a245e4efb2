import { keep, kept } from '../ui/kept.ts';
import { columnsIn, DEFAULT_COLUMNS } from './column-names.ts';

/** The columns that were chosen last in this browser, for addresses that name none. */
export function keptColumns(project: string): readonly string[] {
  return columnsIn(kept(`columns.${project}`)) ?? DEFAULT_COLUMNS;
}

export function keepColumns(project: string, columns: readonly string[] | undefined): void {
  keep(`columns.${project}`, columns);
}
