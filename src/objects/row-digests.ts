/** Characters of the digest of a row. */
export const DIGEST_LENGTH = 43;
export const ROW_DIGEST = /^[A-Za-z0-9]{43}$/;
export const isRowDigest = (text: string) => ROW_DIGEST.test(text);

/** What a table is changed by, as the wire spells it, with the digest of a row in place of the row. */
export type TableEdit = { append: string } | { pop: number } | { insert: number; digest: string };

/** An edit that leads outside the table; `position` is its place in the list. */
export class OutOfRange extends Error {
  constructor(
    readonly position: number,
    readonly rows: number,
  ) {
    super(`edit ${position} is outside a table of ${rows} rows`);
  }
}

/** The row digests of a table as they are stored. */
export const joinedDigests = (digests: readonly string[]): Buffer =>
  Buffer.from(digests.join(''), 'latin1');

/**
 * Applies edits one after the other, each to what the one before left. The table stays the bytes it is, cut into pieces
 * where an edit falls, so that the cost depends on the number of inserts and pops and hardly on the rows.
 * @throws OutOfRange
 */
export function edited(
  rowDigests: Buffer,
  edits: readonly TableEdit[],
): { rows: Buffer; touched: string[] } {
  const pieces = [rowDigests];
  const touched: string[] = [];
  let appended: string[] = [];
  let count = rowDigests.length / DIGEST_LENGTH;
  edits.forEach((edit, position) => {
    if ('append' in edit) {
      touched.push(edit.append);
      appended.push(edit.append);
      count++;
      return;
    }
    if (appended.length > 0) pieces.push(joinedDigests(appended));
    appended = [];
    const index = 'pop' in edit ? edit.pop : edit.insert;
    if (index > count || ('pop' in edit && index === count)) throw new OutOfRange(position, count);
    const at = cut(pieces, index);
    if ('pop' in edit) {
      const [popped] = pieces.splice(at, cut(pieces, index + 1) - at);
      touched.push(popped!.toString('latin1'));
      count--;
    } else {
      pieces.splice(at, 0, joinedDigests([edit.digest]));
      touched.push(edit.digest);
      count++;
    }
  });
  return { rows: Buffer.concat([...pieces, joinedDigests(appended)]), touched };
}

/** Makes a piece begin at the row; answers which one. Behind the last row it is the end. */
function cut(pieces: Buffer[], row: number): number {
  let rest = row * DIGEST_LENGTH;
  let i = 0;
  while (i < pieces.length && rest >= pieces[i]!.length) rest -= pieces[i++]!.length;
  const piece = pieces[i];
  if (rest === 0 || !piece) return i;
  pieces.splice(i, 1, piece.subarray(0, rest), piece.subarray(rest));
  return i + 1;
}
