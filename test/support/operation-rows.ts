import type { Role } from '../../src/platform/roles.js';
import type { TestApp } from './app.js';
import type { Planted } from './planted.js';

/** A request about a planted project. The request itself does not contain the project's marker. */
export interface Sent {
  /** Values of the route's placeholders. */
  params?: Record<string, string>;
  /** The query string with its question mark. */
  query?: string | undefined;
  /** Sent as JSON, except forms and bytes. */
  body?: unknown;
  headers?: Record<string, string>;
}

export function sendTo(
  url: string,
  route: string,
  { params = {}, query = '', body, headers }: Sent,
  more: Record<string, string>,
): Promise<Response> {
  const [method, pattern] = route.split(' ') as [string, string];
  const path = pattern.replace(/[:*](\w+)/g, (_, name: string) => params[name]!);
  const isForm = body instanceof FormData;
  const isSentAsIs = isForm || body instanceof Uint8Array;
  return fetch(url + path + query, {
    method,
    headers: { ...(!isForm && { 'content-type': 'application/json' }), ...more, ...headers },
    ...(body !== undefined && { body: isSentAsIs ? (body as FormData) : JSON.stringify(body) }),
  });
}

export const SCHEMES = ['basic', 'bearer'] as const;
export type Scheme = (typeof SCHEMES)[number];

export interface Operation {
  schemes: Scheme[];
  /** The least role that may call the operation. */
  role: Role;
  /** The status for a key that reaches other projects only: a refusal, or an answer without this project. */
  elsewhere: 200 | 204 | 403 | 404;
  /** The answer contains the marker of the project. */
  isShowing?: true;
  /** The request names no project. The answer may contain the markers of all projects that the key reaches. */
  isForAll?: true;
  /** Only callers that reach all projects may call it. */
  isForAllScopes?: true;
  /** The kinds of changes that watchers of the project are notified of. */
  changes?: string[];
  /** For a write without `Idempotency-Key`: the reason why repeating it is harmless, however late. */
  harmless?: string;
  /** Stores data with the marker in each planted project, for the operation to return. */
  plant?: (planted: Planted, app: TestApp) => Promise<unknown>;
  /** Builds a request that succeeds. It is built again for each key, so it may use up the things that it names. */
  build: (planted: Planted, app: TestApp) => Sent | Promise<Sent>;
}

export type Build = Operation['build'];
type Rest = Omit<Operation, 'build' | 'role'>;
type Row = (build: Build, rest?: Partial<Rest>) => Operation;

const rows =
  (scheme: Scheme, role: Role, common: Omit<Rest, 'schemes'>): Row =>
  (build, rest) => ({ schemes: [scheme], role, ...common, ...rest, build });

/** Operations that name the project in the body, so a key of another project gets 403. */
export const reads = rows('basic', 'reader', { elsewhere: 403, isShowing: true });
export const counts = rows('basic', 'reader', { elsewhere: 403 });
export const writes = rows('basic', 'writer', { elsewhere: 403 });
export const administers = rows('basic', 'admin', { elsewhere: 403 });
/** Preview operations, which name a model or a job. The answer 404 does not reveal whether the id exists. */
export const previews = rows('bearer', 'reader', { elsewhere: 404, isShowing: true });
/** A list without any texts of clients. */
export const lists = rows('bearer', 'reader', { elsewhere: 200, isForAll: true });
export const changes = rows('bearer', 'writer', { elsewhere: 404 });
export const trains = rows('bearer', 'trainer', { elsewhere: 404 });
export const asks: Row = (build, rest) => ({
  schemes: [...SCHEMES],
  role: 'writer',
  elsewhere: 403,
  ...rest,
  build,
});

let numbers = 0;

/** A text that no earlier request contains. */
export const fresh = () => `fresh-${++numbers}`;

/** A request with the project in its body. */
export const withBody =
  (body: (planted: Planted) => object): Build =>
  (planted) => ({ body: { project_id: planted.project, ...body(planted) } });

export const onlyProject = withBody(() => ({}));

/** A filter of rows by the value of a field. */
export const where = (field: string, value: string) => ({
  $expr: { $eq: [{ $getField: field }, { $literal: value }] },
});

export const pathOf = ({ project }: Pick<Planted, 'project'>) => {
  const [entity, name] = project.split('/') as [string, string];
  return { entity, project: name };
};

/** A request with the project in its path. */
export const inPath =
  (body: (planted: Planted, app: TestApp) => object | Promise<object>): Build =>
  async (planted, app) => ({ params: pathOf(planted), body: await body(planted, app) });

/** A request with the project and further parameters in its path. */
export const onPath =
  (
    params: (planted: Planted, app: TestApp) => object | Promise<object> = () => ({}),
    body?: object,
    query: (planted: Planted, app: TestApp) => string | Promise<string> = () => '',
  ): Build =>
  async (planted, app) => ({
    params: { ...pathOf(planted), ...(await params(planted, app)) },
    ...(body && { body }),
    query: await query(planted, app),
  });
