/**
 * Folds the case of each letter for a search. Every position stays: `İ`, whose small form is longer, is not folded. The
 * two small forms of sigma are one.
 */
export const foldCase = (text: string): string =>
  (text.includes('İ')
    ? text
        .split('İ')
        .map((part) => part.toLowerCase())
        .join('İ')
    : text.toLowerCase()
  ).replaceAll('ς', 'σ');
