import { type ReactNode, useEffect, useRef, useState } from 'react';
import { imageSize } from './image-size.ts';
import styles from './json.module.css';

/** The most pixels that are decoded. A small file may hold a very large image, and a pixel takes four bytes. */
const MOST_PIXELS = 40_000_000;
const MOST_BASE64 = 16_000_000;
/** Wider images are drawn smaller. */
const MOST_WIDTH = 1200;

/** Decodes an image of a payload and draws its pixels. It has no URL, and nothing in it runs or is loaded. */
export function Picture({
  base64,
  label,
  otherwise,
}: {
  base64: string;
  label: string;
  /** Shown instead of an image that cannot be drawn. */
  otherwise: ReactNode;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isBad, setBad] = useState(false);
  useEffect(() => {
    const gone = new AbortController();
    bitmapOf(base64).then(
      (bitmap) => {
        const { current } = canvas;
        if (!gone.signal.aborted && current) {
          current.width = bitmap.width;
          current.height = bitmap.height;
          current.getContext('2d')!.drawImage(bitmap, 0, 0);
        }
        bitmap.close();
      },
      () => {
        if (!gone.signal.aborted) setBad(true);
      },
    );
    return () => gone.abort();
  }, [base64]);
  if (isBad) return otherwise;
  return <canvas ref={canvas} role="img" aria-label={label} className={styles['image']} />;
}

async function bitmapOf(base64: string): Promise<ImageBitmap> {
  if (base64.length > MOST_BASE64) throw new Error('too long');
  const binary = atob(base64.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const size = imageSize(bytes);
  if (!size || size.width * size.height > MOST_PIXELS)
    throw new Error('not an image, or too large');
  const width = Math.min(size.width, MOST_WIDTH);
  return createImageBitmap(new Blob([bytes]), { resizeWidth: Math.max(1, width) });
}
