/**
 * Compares strings by code point, as Python and PostgreSQL's collation C do. `<` compares UTF-16 units, which puts
 * U+1F600 before U+FF5E.
 */
export function compareCodePoints(a: string, b: string): number {
  const common = Math.min(a.length, b.length);
  for (let i = 0; i < common; i++) {
    const difference = a.codePointAt(i)! - b.codePointAt(i)!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
