/** A cell as RFC 4180 has it. One that begins like a formula gets an apostrophe, so that no spreadsheet runs it; numbers stay. */
export function csvCell(value: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(value) && !/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value);
  const text = isFormula ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
