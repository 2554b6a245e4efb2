import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { memberSpans } from '../../platform/json/json-text.js';

/** A column of a Parquet file. Every column may hold nulls. */
export interface ParquetColumn {
  name: string;
  /**
   * The value at `from` becomes a text, a whole number, a double, a boolean, a time in microseconds, or the text of its
   * JSON. Null stays null.
   */
  type: 'text' | 'integer' | 'number' | 'boolean' | 'time' | 'json';
  /** Path of the value in the row. */
  from: readonly string[];
  /**
   * If set, the value at `from` is an object of objects, and the column is the sum of this member of them. It is null
   * if there are none, or if one of them has no number there.
   */
  sumOf?: string;
}

export interface RowGroupQuestion {
  columns: readonly ParquetColumn[];
  /** Rows as JSON lines. */
  lines: Uint8Array;
  /** Place of the row group in the file. */
  offset: number;
}

export interface EncodedRowGroup {
  bytes: Uint8Array;
  rows: number;
  /** Its part of the footer, which a file keeps up to its end. */
  footer: Uint8Array;
}

type RowGroup = ParquetWriter['row_groups'][number];

interface Footer {
  columns: readonly ParquetColumn[];
  /** Parts of the row groups. */
  groups: readonly Uint8Array[];
  rows: number;
  metadata: { key: string; value: string }[];
}

type Value = string | number | bigint | boolean | null;

const TYPES: Record<ParquetColumn['type'], Partial<SchemaElement>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
};

/** Statistics keep the smallest and the largest text of a column. A column with a text of more characters has none. */
const LONGEST_KEPT = 256;

const schemaOf = (columns: readonly ParquetColumn[]): SchemaElement[] => [
  { name: 'root', num_children: columns.length },
  ...columns.map(({ name, type }): SchemaElement => ({
    name,
    repetition_type: 'OPTIONAL',
    ...TYPES[type],
  })),
];

/** Encodes rows as one row group of a Parquet file. It runs in a thread. */
export function encodeRowGroup({ columns, lines, offset }: RowGroupQuestion): EncodedRowGroup {
  const writer = new ByteWriter(lines.length);
  const file = new ParquetWriter({ writer, schema: schemaOf(columns) });
  const header = writer.index;
  writer.offset = offset;
  const values = valuesOf(columns, lines);
  const rows = values[0]!.length;
  void file.write({
    columnData: columns.map(({ name, type }, i) => ({
      name,
      data: values[i]!,
      offsetIndex: false,
      statistics: type !== 'json' && !values[i]!.some(isLong),
      ...(type === 'json' && { encoding: 'PLAIN' }),
    })),
    rowGroupSize: rows,
  });
  const footer = partOf(columns, file.row_groups[0]!);
  return { bytes: writer.getBytes().slice(header), rows, footer };
}

const isLong = (value: Value) => typeof value === 'string' && value.length > LONGEST_KEPT;

/** Returns the footer of a file, from the parts of its row groups. */
export function footerOf({ columns, groups, rows, metadata }: Footer): Uint8Array {
  const write = (list: RowGroup[]) => fileMetadata(columns, list, { rows, metadata });
  const none = write([]);
  const at = firstDifference(none, write([{ columns: [], total_byte_size: 0n, num_rows: 0n }]));
  const head = new ByteWriter();
  if (groups.length < LONG_LIST) head.appendUint8((groups.length << 4) | STRUCT);
  else {
    head.appendUint8((LONG_LIST << 4) | STRUCT);
    head.appendVarInt(groups.length);
  }
  const all = [none.subarray(0, at), head.getBytes(), ...groups, none.subarray(at + 1)];
  const length = new ByteWriter();
  length.appendUint32(all.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([...all, length.getBytes(), MAGIC]);
}

export const MAGIC = Buffer.from('PAR1');

/** The compact protocol of Thrift has this type for a struct. The length of a list with so many items follows it. */
const STRUCT = 12;
const LONG_LIST = 15;

/** The bytes that a row group adds to the metadata of a file, behind the length of the list. */
function partOf(columns: readonly ParquetColumn[], group: RowGroup): Uint8Array {
  const none = fileMetadata(columns, []);
  const one = fileMetadata(columns, [group]);
  const at = firstDifference(none, one) + 1;
  return one.slice(at, at + one.length - none.length);
}

const firstDifference = (a: Uint8Array, b: Uint8Array) => a.findIndex((byte, i) => byte !== b[i]);

function fileMetadata(
  columns: readonly ParquetColumn[],
  row_groups: RowGroup[],
  { rows, metadata }: Pick<Footer, 'rows' | 'metadata'> = { rows: 0, metadata: [] },
): Uint8Array {
  const writer = new ByteWriter();
  writeMetadata(writer, {
    version: 2,
    created_by: 'skein',
    schema: schemaOf(columns),
    num_rows: BigInt(rows),
    row_groups,
    key_value_metadata: metadata,
    metadata_length: 0,
  });
  return writer.getBytes().subarray(0, -4); // its length, which the caller knows
}

/** Columns whose values lie below one member of an object. */
interface Members {
  own: number[];
  below: Map<string, Members>;
}

function valuesOf(columns: readonly ParquetColumn[], lines: Uint8Array): Value[][] {
  const text = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength).toString();
  const wanted = membersOf(columns);
  const values: Value[][] = columns.map(() => []);
  for (let start = 0, row = 0; start < text.length; row++) {
    for (const list of values) list.push(null);
    read(wanted, start, row);
    start = text.indexOf('\n', start) + 1;
  }
  return values;

  function read(members: Members, at: number, row: number): void {
    for (const [name, [from, to]] of memberSpans(text, at)) {
      const member = members.below.get(name);
      if (!member) continue;
      for (const i of member.own) values[i]![row] = valueOf(columns[i]!, text.slice(from, to));
      if (member.below.size > 0 && text[from] === '{') read(member, from, row);
    }
  }
}

function membersOf(columns: readonly ParquetColumn[]): Members {
  const root: Members = { own: [], below: new Map() };
  for (const [i, { from }] of columns.entries()) {
    let members = root;
    for (const name of from) {
      const next: Members = members.below.get(name) ?? { own: [], below: new Map() };
      members.below.set(name, next);
      members = next;
    }
    members.own.push(i);
  }
  return root;
}

function valueOf({ type, sumOf }: ParquetColumn, text: string): Value {
  if (text === 'null') return null;
  if (type === 'json') return text;
  const value = JSON.parse(text) as unknown;
  if (sumOf !== undefined) return sum(value, sumOf, type);
  if (type === 'integer') return BigInt(text);
  if (type === 'time') return microseconds(value as string);
  return value as Value;
}

function sum(value: unknown, member: string, type: ParquetColumn['type']): number | bigint | null {
  const parts = Object.values(value as Record<string, Record<string, number | null>>);
  if (parts.length === 0 || parts.some((part) => typeof part[member] !== 'number')) return null;
  const total = parts.reduce((all, part) => all + part[member]!, 0);
  return type === 'integer' ? BigInt(total) : total;
}

/** Reads `2026-01-31T12:00:00.500000Z`. */
function microseconds(time: string): bigint {
  const millis = Date.parse(`${time.slice(0, 23)}Z`);
  return BigInt(millis) * 1000n + BigInt(time.slice(23, 26));
}
