/**
 * A cell of RFC 4180. A cell that begins like a formula gets an apostrophe, so that no spreadsheet runs it. Numbers
 * stay unchanged.
 */
export function csvCell(value: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(value) && !/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value);
  const text = isFormula ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
