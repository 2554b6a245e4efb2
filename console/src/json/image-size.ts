interface Size {
  width: number;
  height: number;
}

function startsWith(bytes: Uint8Array, text: string, at = 0): boolean {
  for (let n = 0; n < text.length; n++) if (bytes[at + n] !== text.charCodeAt(n)) return false;
  return true;
}

/**
 * Reads the size in pixels from the header of a PNG, JPEG, GIF or WebP. Undefined for other bytes. Nothing is decoded.
 */
export function imageSize(bytes: Uint8Array): Size | undefined {
  if (bytes.length < 32) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (startsWith(bytes, '\u0089PNG\r\n\u001A\n'))
    return { width: view.getUint32(16), height: view.getUint32(20) };
  if (startsWith(bytes, 'GIF8'))
    return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  if (startsWith(bytes, 'RIFF') && startsWith(bytes, 'WEBP', 8)) return webpSize(bytes, view);
  if (view.getUint16(0) === 0xff_d8) return jpegSize(view);
  return undefined;
}

function webpSize(bytes: Uint8Array, view: DataView): Size | undefined {
  const low = 0x3f_ff;
  if (startsWith(bytes, 'VP8 ', 12))
    return { width: view.getUint16(26, true) & low, height: view.getUint16(28, true) & low };
  if (startsWith(bytes, 'VP8L', 12)) {
    const bits = view.getUint32(21, true);
    return { width: (bits & low) + 1, height: ((bits >>> 14) & low) + 1 };
  }
  if (!startsWith(bytes, 'VP8X', 12)) return undefined;
  const three = (at: number) => view.getUint16(at, true) + (bytes[at + 2]! << 16);
  return { width: three(24) + 1, height: three(27) + 1 };
}

/** Reads the size from the JPEG segment that begins a frame: markers `C0` to `CF`, except those of tables. */
function jpegSize(view: DataView): Size | undefined {
  for (let at = 2; at + 9 < view.byteLength;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}
