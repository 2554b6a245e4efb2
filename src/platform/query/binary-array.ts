/*
 * Arrays in PostgreSQL's binary format (`array_send` in src/backend/utils/adt/arrayfuncs.c). The header has five 4-byte
 * integers: dimensions, whether there are nulls, type of the elements, length, lower bound. Each element follows as its
 * length and its bytes; null has length -1. pg sends a `Buffer` in this format. Nothing is escaped or scanned for
 * quotes. A row takes 19 µs of PostgreSQL; in one JSON text for all rows it takes 26 (ADR 4).
 */
const HEADER = 20;

/** `oid` of the element type: https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat */
function binaryArray(
  oid: number,
  values: readonly (string | Uint8Array | null | undefined)[],
): Buffer {
  const lengths = values.map((value) =>
    value === null || value === undefined ? -1 : Buffer.byteLength(value),
  );
  const bytes = lengths.reduce((sum, length) => sum + 4 + Math.max(length, 0), HEADER);
  const array = Buffer.allocUnsafe(bytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(1, 4);
  array.writeInt32BE(oid, 8);
  array.writeInt32BE(values.length, 12);
  array.writeInt32BE(1, 16);
  let at = HEADER;
  for (const [i, length] of lengths.entries()) {
    at = array.writeInt32BE(length, at);
    const value = values[i];
    if (typeof value === 'string') at += array.write(value, at);
    else if (value) {
      array.set(value, at);
      at += length;
    }
  }
  return array;
}

type Values = readonly (string | null | undefined)[];

export const textArray = (values: Values): Buffer => binaryArray(25, values);
export const jsonArray = (values: Values): Buffer => binaryArray(114, values);
export const byteaArray = (values: readonly Uint8Array[]): Buffer => binaryArray(17, values);
