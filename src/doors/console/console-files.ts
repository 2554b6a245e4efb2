import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type NextFunction, type Request, type Response, Router, static as files } from 'express';

/** The output of `vite build`: dist/console, wherever the service runs from. */
const ROOT = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/console' : '../../../console',
    import.meta.url,
  ),
);

/**
 * Everything comes from the service itself. Nothing inline runs, so that no text of a trace can, and no other page may
 * show the console in a frame or send a form from it.
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

/** The console's static files under `/console/`, and the way there from `/` for a browser. */
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
  if (request.method === 'GET' || request.method === 'HEAD') response.set(HEADERS);
  next();
}

/** The build leaves a `.gz` beside what gets smaller by it. */
function preferGzipped(request: Request, response: Response, next: NextFunction): void {
  const type = /\.(js|css|svg)$/.exec(request.path)?.[1];
  const isAsset = type !== undefined && !request.path.includes('..');
  if (isAsset && request.acceptsEncodings('gzip') && existsSync(`${ROOT}${request.path}.gz`)) {
    request.url = `${request.path}.gz`;
    response.set({ 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }).type(type);
  }
  next();
}

/** The names of assets hold a hash of what is in them. */
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

/** Every other address is one that the page itself understands. */
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
