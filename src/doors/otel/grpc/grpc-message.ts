const PREFIX_BYTES = 5;

/** What the prefix of a message says of it. */
export interface MessagePrefix {
  isCompressed: boolean;
  length: number;
}

export class InvalidGrpcMessage extends Error {}

/**
 * Cuts the one message of a unary request out of its bytes: five bytes of prefix (a flag, a length), and the message. Keeps nothing but the
 * prefix, so that a length costs nothing that is only claimed.
 */
export class MessageCutter {
  private readonly prefix = Buffer.alloc(PREFIX_BYTES);
  private prefixBytes = 0;
  /** Of the message, after the prefix. */
  private left = 0;

  constructor(private readonly onPrefix: (prefix: MessagePrefix) => void) {}

  /** The part of the message in the chunk; undefined before the prefix is complete. @throws NoMessage */
  cut(chunk: Buffer): Buffer | undefined {
    let rest = chunk;
    if (this.prefixBytes < PREFIX_BYTES) {
      const taken = chunk.copy(this.prefix, this.prefixBytes);
      this.prefixBytes += taken;
      if (this.prefixBytes < PREFIX_BYTES) return undefined;
      const flag = this.prefix[0]!;
      if (flag > 1)
        throw new InvalidGrpcMessage(`a message must begin with the byte 0 or 1, got ${flag}`);
      this.left = this.prefix.readUInt32BE(1);
      this.onPrefix({ isCompressed: flag === 1, length: this.left });
      rest = chunk.subarray(taken);
    }
    if (rest.length > this.left)
      throw new InvalidGrpcMessage('the request has more than one message');
    this.left -= rest.length;
    return rest;
  }

  get isComplete(): boolean {
    return this.prefixBytes === PREFIX_BYTES && this.left === 0;
  }
}

/** A message with its prefix. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(PREFIX_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}
