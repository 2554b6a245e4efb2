import protobuf from 'protobufjs';
import { CODES, Cursor, UNLIMITED } from '../../platform/json/json-grammar.js';
import { LENGTH_DELIMITED } from './protobuf-json.js';

/*
 * A span over the limits of decoding is stored as its head, without most of its payload. Otherwise its children would
 * have no parent, and its trace no cost. The head is a shorter span that the same decoders read.
 */

/**
 * Maximum bytes of one attribute or other member in the head. `MAX_MEMBERS` limits all attributes together, and all
 * other members together.
 */
const MAX_MEMBER = 4096;
const MAX_MEMBERS = 64 * 1024;

/** Member numbers of a span in trace/v1/trace.proto of opentelemetry-proto v1.11.0. */
const ATTRIBUTES = 9;
const PAYLOAD = { attributes: ATTRIBUTES, events: 11, links: 13 };
const isPayload = (number: number) => number === PAYLOAD.events || number === PAYLOAD.links;

const { OPEN_BRACE, OPEN_BRACKET } = CODES;

/** The attribute that names the reason for the missing rest. */
export const LEFT_OUT_ATTRIBUTE = 'skein.left_out';

class HeadRoom {
  private attributes: number;
  private others = MAX_MEMBERS;

  constructor(withAttributes: boolean) {
    this.attributes = withAttributes ? MAX_MEMBERS : 0;
  }

  /** Takes the bytes of an attribute or another member. Returns false when not enough bytes are left. */
  take(length: number, isAttribute: boolean): boolean {
    if (length > MAX_MEMBER) return false;
    const room = isAttribute ? 'attributes' : 'others';
    if (length > this[room]) return false;
    this[room] -= length;
    return true;
  }
}

/**
 * Returns the head of a span in protobuf.
 * @throws Error when the bytes are not a message
 */
export function headOfBytes(bytes: Uint8Array, withAttributes: boolean): Uint8Array {
  const reader = protobuf.Reader.create(bytes);
  const room = new HeadRoom(withAttributes);
  const kept: Uint8Array[] = [];
  while (reader.pos < bytes.length) {
    const start = reader.pos;
    const tag = reader.uint32();
    if ((tag & 7) === LENGTH_DELIMITED) reader.skip(reader.uint32());
    else reader.skipType(tag & 7);
    const number = tag >>> 3;
    if (!isPayload(number) && room.take(reader.pos - start, number === ATTRIBUTES))
      kept.push(bytes.subarray(start, reader.pos));
  }
  return Buffer.concat(kept);
}

/** Returns the head of a span in JSON. The text must be valid JSON. */
export function headOfText(text: string, withAttributes: boolean): string {
  const room = new HeadRoom(withAttributes);
  const members: string[] = [];
  const cursor = new Cursor(text, 0);
  if (cursor.first !== OPEN_BRACE) return '{}';
  while (cursor.next()) {
    const name = cursor.keyIn(PAYLOAD);
    const { keyAt } = cursor;
    if (name === 'attributes' && cursor.first === OPEN_BRACKET)
      members.push(`"attributes":[${attributesIn(cursor, room).join()}]`);
    else {
      const end = cursor.skip(UNLIMITED);
      if (name === undefined && room.take(end - keyAt, false)) members.push(text.slice(keyAt, end));
    }
  }
  return `{${members.join()}}`;
}

/** Returns the attributes that fit into the head, and moves the cursor behind all attributes. */
function attributesIn(cursor: Cursor, room: HeadRoom): string[] {
  const kept: string[] = [];
  const elements = cursor.inside();
  while (elements.next()) {
    const { at } = elements;
    const end = elements.skip(UNLIMITED);
    if (room.take(end - at, true)) kept.push(elements.text.slice(at, end));
  }
  cursor.at = elements.at;
  return kept;
}

export const leftOut = (why: string): string =>
  `Skein left out the events and links of this span, its attributes of more than ${MAX_MEMBER} bytes, and those after the ` +
  `first ${MAX_MEMBERS} bytes of attributes: ${why}`;
