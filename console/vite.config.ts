import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const OUT = join(import.meta.dirname, '../dist/console');

/** Writes a `.gz` beside each asset that gets smaller. The service itself does not compress. */
const gzipped = (): Plugin => ({
  name: 'gzipped',
  apply: 'build',
  closeBundle() {
    for (const name of readdirSync(OUT, { recursive: true, encoding: 'utf8' })) {
      if (!/\.(js|css|svg)$/.test(name)) continue;
      const file = join(OUT, name);
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    }
  },
});

/** The service that `npm run dev -w console` connects to (`SKEIN_URL`). */
const service = process.env['SKEIN_URL'] ?? 'http://127.0.0.1:3000';

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [react(), gzipped()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    // the content policy of the page forbids inline code
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ['chrome123', 'edge123', 'firefox121', 'safari17.5'],
  },
  server: {
    proxy: { '^/(?!console/)': service, '^/console/(login|logout)$': service },
  },
});
