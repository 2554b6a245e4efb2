import { jsonNodes } from './json-index.ts';

addEventListener('message', ({ data }: MessageEvent<string>) => {
  try {
    const nodes = jsonNodes(data);
    const { start, end, behind, key, depth } = nodes;
    postMessage(
      { nodes },
      { transfer: [start, end, behind, key, depth].map(({ buffer }) => buffer) },
    );
  } catch (error) {
    postMessage({ error: (error as Error).message });
  }
});
