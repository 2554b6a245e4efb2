/** Characters of a row digest. */
export const DIGEST_LENGTH = 43;
export const ROW_DIGEST = /^[A-Za-z0-9]{43}$/;
export const isRowDigest = (text: string) => ROW_DIGEST.test(text);

/** An update of a table as on the wire, with the digest of a row instead of the row. */
export type TableEdit = { append: string } | { pop: number } | { insert: number; digest: string };

/** An edit outside the table. `position` is the index of the edit in its list. */
export class OutOfRange extends Error {
  constructor(
    readonly position: number,
    readonly rows: number,
  ) {
    super(`edit ${position} is outside a table of ${rows} rows`);
  }
}

export const joinedDigests = (digests: readonly string[]): Buffer =>
  Buffer.from(digests.join(''), 'latin1');

/**
 * Applies edits one after the other, each to the result of the previous one. The bytes of the table are not copied, but
 * cut into pieces at each edit. So the cost depends on the number of inserts and pops, and hardly on the rows.
 * @throws OutOfRange
 */
export function applyEdits(
  rowDigests: Buffer,
  edits: readonly TableEdit[],
): { rows: Buffer; touched: string[] } {
  const pieces = new PieceTable(rowDigests);
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
    const index = 'pop' in edit ? edit.pop : edit.insert;
    if (index > count || ('pop' in edit && index === count)) throw new OutOfRange(position, count);
    if (appended.length > 0)
      pieces.insert((count - appended.length) * DIGEST_LENGTH, joinedDigests(appended));
    appended = [];
    if ('pop' in edit) {
      touched.push(pieces.takeRow(index * DIGEST_LENGTH));
      count--;
    } else {
      pieces.insert(index * DIGEST_LENGTH, joinedDigests([edit.digest]));
      touched.push(edit.digest);
      count++;
    }
  });
  return { rows: Buffer.concat([...pieces.all(), joinedDigests(appended)]), touched };
}

/** Pieces of a block. A longer block is halved, so that an edit passes a few hundred pieces and not all. */
const MAX_PIECES = 128;

/** Part of a buffer. Numbers are faster to cut and to pass than views of the buffer. */
interface BufferPiece {
  source: Buffer;
  start: number;
  length: number;
}

interface PieceBlock {
  length: number;
  pieces: BufferPiece[];
}

/** Bytes in pieces, which are cut and spliced instead of copied. */
class PieceTable {
  private readonly blocks: PieceBlock[];

  constructor(bytes: Buffer) {
    this.blocks = [makeBlock([wholePiece(bytes)])];
  }

  insert(at: number, bytes: Buffer): void {
    const { block, i } = this.cut(at);
    block.pieces.splice(i, 0, wholePiece(bytes));
    block.length += bytes.length;
  }

  /** Removes the row that begins at byte `at`, and returns its digest. */
  takeRow(at: number): string {
    const { block, i } = this.cut(at);
    const { source, start, length } = block.pieces[i]!;
    const end = start + DIGEST_LENGTH;
    if (length > DIGEST_LENGTH)
      block.pieces[i] = { source, start: end, length: length - DIGEST_LENGTH };
    else block.pieces.splice(i, 1);
    block.length -= DIGEST_LENGTH;
    return source.toString('latin1', start, end);
  }

  all(): Buffer[] {
    return this.blocks.flatMap(({ pieces }) =>
      pieces.map(({ source, start, length }) => source.subarray(start, start + length)),
    );
  }

  /** Cuts so that a piece begins at byte `at`, and returns its position: the end for a byte after the last. */
  private cut(at: number): { block: PieceBlock; i: number } {
    let rest = at;
    let b = 0;
    while (b < this.blocks.length - 1 && rest >= this.blocks[b]!.length)
      rest -= this.blocks[b++]!.length;
    const block = this.blocks[b]!;
    const { pieces } = block;
    if (pieces.length > MAX_PIECES) {
      const half = pieces.length >> 1;
      this.blocks.splice(b, 1, makeBlock(pieces.slice(0, half)), makeBlock(pieces.slice(half)));
      return this.cut(at);
    }
    let i = 0;
    while (i < pieces.length && rest >= pieces[i]!.length) rest -= pieces[i++]!.length;
    if (rest === 0) return { block, i };
    const { source, start, length } = pieces[i]!;
    pieces[i] = { source, start, length: rest };
    pieces.splice(i + 1, 0, { source, start: start + rest, length: length - rest });
    return { block, i: i + 1 };
  }
}

const wholePiece = (source: Buffer): BufferPiece => ({ source, start: 0, length: source.length });

const makeBlock = (pieces: BufferPiece[]): PieceBlock => ({
  length: pieces.reduce((sum, { length }) => sum + length, 0),
  pieces,
});
