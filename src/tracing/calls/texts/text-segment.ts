import { cutDocument, cutGrams, GRAM_BITS } from './grams.js';

/*
 * A segment says for each gram which of its calls have it. Its parts are ranges of grams. A part is a list of entries,
 * in the order of the grams. An entry has:
 * - the gram in 3 bytes;
 * - a varint: twice the number of bytes that follow, plus one if they are a bitmap;
 * - the numbers of the calls: varints of their differences, or a bitmap, whichever is shorter.
 */

/** Most calls of a segment. */
export const SEGMENT_CALLS = 65_536;

const GRAMS = 2 ** GRAM_BITS;
/** Bytes that a part has on average: a row of this size is stored without compression or a second table. */
const PART_BYTES = 2000;
/** A segment has at least this many parts, so that merging reads a part of it at a time. */
export const MERGED_BITS = 4;
const MAX_BITS = 13;

/** The texts of a call, and its JSON documents. */
export interface CallText {
  names: string;
  documents: string;
}

/** The grams of a part share their first `bits` bits, which are the number of the part. */
export interface SegmentPart {
  part: number;
  bytes: Buffer;
}

export interface EncodedSegment {
  bits: number;
  parts: SegmentPart[];
}

/** Returns the number of the part that may hold a gram. */
export const partOf = (gram: number, bits: number) => gram >>> (GRAM_BITS - bits);

/** Returns the segment of some calls, numbered in their order. */
export function encodeSegment(calls: readonly CallText[]): EncodedSegment {
  const pairs = new Pairs();
  calls.forEach(({ names, documents }, call) => {
    const take = pairs.of(call);
    cutGrams(names, take);
    cutDocument(documents, take);
  });
  return pairs.encoded();
}

/** Collects which calls have which grams. */
class Pairs {
  private grams = new Uint32Array(65_536);
  private calls = new Uint16Array(65_536);
  private count = 0;
  /** The last call that has each gram, plus one. */
  private readonly last = new Uint16Array(GRAMS);

  of(call: number): (gram: number) => void {
    return (gram) => {
      if (this.last[gram] === call + 1) return;
      this.last[gram] = call + 1;
      if (this.count === this.grams.length) this.grow();
      this.grams[this.count] = gram;
      this.calls[this.count++] = call;
    };
  }

  private grow(): void {
    const [{ grams }, { calls }] = [this, this];
    this.grams = new Uint32Array(2 * grams.length);
    this.grams.set(grams);
    this.calls = new Uint16Array(2 * calls.length);
    this.calls.set(calls);
  }

  encoded(): EncodedSegment {
    const ends = new Uint32Array(GRAMS + 1);
    for (let i = 0; i < this.count; i++) ends[this.grams[i]! + 1]!++;
    for (let gram = 0; gram < GRAMS; gram++) ends[gram + 1]! += ends[gram]!;
    const sorted = new Uint16Array(this.count);
    const next = ends.slice(0, GRAMS);
    for (let i = 0; i < this.count; i++) sorted[next[this.grams[i]!]!++] = this.calls[i]!;
    const writer = new PartWriter(bitsFor(this.count));
    for (let gram = 0; gram < GRAMS; gram++) {
      const [from, to] = [ends[gram]!, ends[gram + 1]!];
      if (from < to) writer.add(gram, sorted.subarray(from, to));
    }
    return writer.end();
  }
}

/** Returns the number of bits that gives parts of some `PART_BYTES`. */
export const bitsFor = (bytes: number) =>
  Math.min(MAX_BITS, Math.max(MERGED_BITS, Math.ceil(Math.log2(bytes / PART_BYTES))));

/** Writes entries in the order of their grams, and divides them into parts. */
class PartWriter {
  private readonly parts: SegmentPart[] = [];
  private bytes = Buffer.allocUnsafe(64 * 1024);
  private length = 0;
  private part = 0;

  constructor(private readonly bits: number) {}

  add(gram: number, calls: Uint16Array): void {
    const part = partOf(gram, this.bits);
    if (part !== this.part) this.endPart();
    this.part = part;
    const most = 3 * calls.length + 16;
    if (this.length + most > this.bytes.length) this.grow(most);
    this.length = this.bytes.writeUIntBE(gram, this.length, 3);
    const size = listSize(calls);
    const last = calls[calls.length - 1]!;
    const isBitmap = size > (last >> 3) + 1;
    this.varint(2 * (isBitmap ? (last >> 3) + 1 : size) + Number(isBitmap));
    if (isBitmap) this.bitmap(calls, (last >> 3) + 1);
    else this.list(calls);
  }

  end(): EncodedSegment {
    this.endPart();
    return { bits: this.bits, parts: this.parts };
  }

  private endPart(): void {
    if (this.length === 0) return;
    this.parts.push({ part: this.part, bytes: Buffer.from(this.bytes.subarray(0, this.length)) });
    this.length = 0;
  }

  private grow(by: number): void {
    const larger = Buffer.allocUnsafe(2 * (this.bytes.length + by));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }

  private list(calls: Uint16Array): void {
    let before = 0;
    for (const call of calls) {
      this.varint(call - before);
      before = call;
    }
  }

  private bitmap(calls: Uint16Array, size: number): void {
    this.bytes.fill(0, this.length, this.length + size);
    for (const call of calls) this.bytes[this.length + (call >> 3)]! |= 1 << (call & 7);
    this.length += size;
  }

  private varint(value: number): void {
    let rest = value;
    for (; rest > 127; rest >>>= 7) this.bytes[this.length++] = (rest & 127) | 128;
    this.bytes[this.length++] = rest;
  }
}

/** Returns the bytes of a list of calls as varints of their differences. */
function listSize(calls: Uint16Array): number {
  let [size, before] = [0, 0];
  for (const call of calls) {
    const step = call - before;
    size += step < 128 ? 1 : step < 16_384 ? 2 : 3;
    before = call;
  }
  return size;
}

/** Reads the entries of a part one after the other. */
class PartReader {
  gram = -1;
  /** The numbers of the calls begin and end here. */
  private from = 0;
  private to = 0;
  private isBitmap = false;

  constructor(private readonly bytes: Buffer) {}

  /** Goes to the next entry. False at the end. */
  next(): boolean {
    if (this.to >= this.bytes.length) {
      this.gram = GRAMS;
      return false;
    }
    this.gram = this.bytes.readUIntBE(this.to, 3);
    let at = this.to + 3;
    let [value, shift] = [0, 0];
    for (let byte = 128; byte > 127; shift += 7) {
      byte = this.bytes[at++]!;
      value |= (byte & 127) << shift;
    }
    this.from = at;
    this.to = at + (value >> 1);
    this.isBitmap = (value & 1) === 1;
    return true;
  }

  /** Goes to the entry of a gram. False if the part has none. */
  find(gram: number): boolean {
    while (this.gram < gram) this.next();
    return this.gram === gram;
  }

  get size(): number {
    return this.to - this.from;
  }

  /** Reads the calls of the entry into `calls`, and returns their number. */
  calls(calls: Uint16Array): number {
    return this.isBitmap ? this.bits(calls) : this.list(calls);
  }

  private bits(calls: Uint16Array): number {
    let count = 0;
    for (let at = this.from; at < this.to; at++)
      for (let byte = this.bytes[at]!; byte !== 0; byte &= byte - 1)
        calls[count++] = ((at - this.from) << 3) + (31 - Math.clz32(byte & -byte));
    return count;
  }

  private list(calls: Uint16Array): number {
    let [count, before, value, shift] = [0, 0, 0, 0];
    for (let at = this.from; at < this.to; at++) {
      const byte = this.bytes[at]!;
      value |= (byte & 127) << shift;
      shift += 7;
      if (byte > 127) continue;
      before += value;
      calls[count++] = before;
      [value, shift] = [0, 0];
    }
    return count;
  }

  /** Keeps those of the first `count` calls that the entry has too, and returns their number. */
  keep(calls: Uint16Array, count: number, spare: Uint16Array): number {
    let kept = 0;
    if (this.isBitmap) {
      for (let i = 0; i < count; i++) {
        const call = calls[i]!;
        const at = this.from + (call >> 3);
        if (at < this.to && (this.bytes[at]! >> (call & 7)) & 1) calls[kept++] = call;
      }
      return kept;
    }
    const others = this.list(spare);
    for (let i = 0, j = 0; i < count && j < others;) {
      const [a, b] = [calls[i]!, spare[j]!];
      if (a === b) calls[kept++] = a;
      if (a <= b) i++;
      if (b <= a) j++;
    }
    return kept;
  }
}

/** Parts of one segment in order, and the new number of each of its calls; -1 drops a call. */
export interface MergedSource {
  parts: readonly Uint8Array[];
  numbers: Int32Array;
}

/** Joins the same range of grams of several segments. New numbers must grow with the sources and within each. */
export function mergeParts(sources: readonly MergedSource[], bits: number): SegmentPart[] {
  const writer = new PartWriter(bits);
  const readers = sources.map(({ parts }) => new PartReader(Buffer.concat(parts)));
  for (const reader of readers) reader.next();
  const [calls, merged] = [new Uint16Array(SEGMENT_CALLS), new Uint16Array(SEGMENT_CALLS)];
  for (;;) {
    const gram = Math.min(...readers.map((reader) => reader.gram));
    if (gram === GRAMS) return writer.end().parts;
    let count = 0;
    readers.forEach((reader, i) => {
      if (reader.gram !== gram) return;
      const { numbers } = sources[i]!;
      const found = reader.calls(calls);
      for (let j = 0; j < found; j++) {
        const number = numbers[calls[j]!]!;
        if (number >= 0) merged[count++] = number;
      }
      reader.next();
    });
    if (count > 0) writer.add(gram, merged.subarray(0, count));
  }
}

const NO_BYTES = Buffer.alloc(0);

/** Returns how many bytes the calls of a gram take in a segment. `parts` are its parts that may hold the gram. */
export function gramBytes(gram: number, bits: number, parts: ReadonlyMap<number, Buffer>): number {
  const reader = new PartReader(parts.get(partOf(gram, bits)) ?? NO_BYTES);
  return reader.find(gram) ? reader.size : 0;
}

/**
 * Returns the numbers of the calls of a segment that have all `grams`, in order. `parts` are its parts that may hold
 * them, by number.
 */
export function callsWith(
  grams: readonly number[],
  bits: number,
  parts: ReadonlyMap<number, Buffer>,
): Uint16Array {
  const found: PartReader[] = [];
  for (const gram of grams) {
    const bytes = parts.get(partOf(gram, bits));
    const reader = new PartReader(bytes ?? NO_BYTES);
    if (!reader.find(gram)) return new Uint16Array(0);
    found.push(reader);
  }
  found.sort((a, b) => a.size - b.size);
  const [calls, spare] = [new Uint16Array(SEGMENT_CALLS), new Uint16Array(SEGMENT_CALLS)];
  let count = found[0]!.calls(calls);
  for (const reader of found.slice(1)) count = reader.keep(calls, count, spare);
  return calls.slice(0, count);
}
