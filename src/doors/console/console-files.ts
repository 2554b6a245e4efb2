import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type NextFunction, type Request, type Response, Router, static as files } from 'express';

/** The output of `vite build`, `dist/console`, for a service that runs from `src` or from `dist`. */
const ROOT = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/console' : '../../../console',
    import.meta.url,
  ),
);

/**
 * Allows only resources of the service itself. Inline scripts are forbidden, so text of a trace cannot run as one. No
 * other page may embed the console in a frame or receive a form from it.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Serves the console's static files under `/console/`. A browser that opens `/` is redirected to them. */
export function consoleFiles(): Router {
  const router = Router({ strict: true });
  router.get('/', (request, response, next) => {
    if (isPage(request)) response.redirect('/console/');
    else next();
  });
  router.get('/console', (_, response) => response.redirect('/console/'));
  router.use('/console/', harden, preferGzipped, assets(), page);
  return router;
}

const isPage = (request: Request) => /\btext\/html\b/.test(request.headers.accept ?? '');

function harden(request: Request, response: Response, next: NextFunction): void {
  request.context.disconnectUnread();
  if (request.method === 'GET' || request.method === 'HEAD') response.set(HEADERS);
  next();
}

/** Serves the compressed file, which the build stores as `.gz` when it is smaller. */
function preferGzipped(request: Request, response: Response, next: NextFunction): void {
  const type = /\.(js|css|svg)$/.exec(request.path)?.[1];
  const isAsset = type !== undefined && !request.path.includes('..');
  if (isAsset && request.acceptsEncodings('gzip') && existsSync(`${ROOT}${request.path}.gz`)) {
    request.url = `${request.path}.gz`;
    response.set({ 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }).type(type);
  }
  next();
}

/** Serves files. The names of assets contain a hash of their content, so assets are cached forever. */
const assets = () =>
  files(ROOT, {
    index: false,
    redirect: false,
    setHeaders: (response, path) =>
      void response.set(
        'Cache-Control',
        path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      ),
  });

/** Serves the console's page for every other path, because the page routes paths itself. */
function page(request: Request, response: Response, next: NextFunction): void {
  const isFile = request.path.startsWith('/assets/');
  if ((request.method !== 'GET' && request.method !== 'HEAD') || isFile) return next();
  response.sendFile(
    'index.html',
    { root: ROOT, cacheControl: false, headers: { 'Cache-Control': 'no-cache' } },
    (error) => {
      if (error) next();
    },
  );
}
