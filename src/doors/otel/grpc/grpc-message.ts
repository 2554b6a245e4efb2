const PREFIX_BYTES = 5;

export interface MessagePrefix {
  isCompressed: boolean;
  length: number;
}

export class InvalidGrpcMessage extends Error {}

/**
 * Extracts the message of a unary request from its bytes: a prefix of five bytes (a flag and a length) and the message.
 * It buffers only the prefix, so a length that is only claimed costs no memory.
 */
export class MessageCutter {
  private readonly prefix = Buffer.alloc(PREFIX_BYTES);
  private prefixBytes = 0;
  /** Bytes of the message that are still missing. */
  private left = 0;

  constructor(private readonly onPrefix: (prefix: MessagePrefix) => void) {}

  /**
   * Returns the part of the message in the chunk; undefined before the prefix is complete.
   * @throws InvalidGrpcMessage
   */
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

export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(PREFIX_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}
