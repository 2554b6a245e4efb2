import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { queueSearch } from './annotation/search.ts';
import { recentProjects } from './api/recent.ts';
import { auditSearch } from './audit/search.ts';
import { compareSearch, evaluationsSearch, leaderboardsSearch } from './evaluations/search.ts';
import { metricsSearch } from './metrics/search.ts';
import { objectSearch, objectsSearch } from './objects/search.ts';
import { Shell } from './shell/Shell.tsx';
import { threadsSearch } from './threads/search.ts';
import { tracesSearch } from './traces/request.ts';
import {
  buildSearch,
  checkpointSearch,
  jobSearch,
  modelSearch,
  recipeSearch,
  trainingSearch,
} from './training/search.ts';

const root = createRootRoute({ component: Shell });

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    const [entity, project] = recentProjects()[0]?.split('/') ?? [];
    throw entity && project
      ? redirect({ to: '/p/$entity/$project/traces', params: { entity, project } })
      : redirect({ to: '/connect' });
  },
});

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const connect = createRoute({
  getParentRoute: () => root,
  path: '/connect',
  validateSearch: (search: Record<string, unknown>): { project?: string } => {
    const project = text(search['project']);
    return project === undefined ? {} : { project };
  },
  component: lazyRouteComponent(() => import('./connect/ConnectPage.tsx'), 'ConnectPage'),
});

const project = createRoute({ getParentRoute: () => root, path: '/p/$entity/$project' });

const traces = createRoute({
  getParentRoute: () => project,
  path: '/traces',
  validateSearch: tracesSearch,
  component: lazyRouteComponent(() => import('./traces/TracesPage.tsx'), 'TracesPage'),
});

const trace = createRoute({
  getParentRoute: () => project,
  path: '/traces/$traceId',
  validateSearch: (search: Record<string, unknown>): { call?: string } => {
    const call = text(search['call']);
    return call === undefined ? {} : { call };
  },
  component: lazyRouteComponent(() => import('./trace/TracePage.tsx'), 'TracePage'),
});

const threads = createRoute({
  getParentRoute: () => project,
  path: '/threads',
  validateSearch: threadsSearch,
  component: lazyRouteComponent(() => import('./threads/ThreadsPage.tsx'), 'ThreadsPage'),
});

const thread = createRoute({
  getParentRoute: () => project,
  path: '/threads/$threadId',
  component: lazyRouteComponent(() => import('./threads/ThreadPage.tsx'), 'ThreadPage'),
});

const metrics = createRoute({
  getParentRoute: () => project,
  path: '/metrics',
  validateSearch: metricsSearch,
  component: lazyRouteComponent(() => import('./metrics/MetricsPage.tsx'), 'MetricsPage'),
});

const projects = createRoute({
  getParentRoute: () => root,
  path: '/projects',
  validateSearch: (search: Record<string, unknown>): { sort?: string } => {
    const sort = text(search['sort']);
    return sort === undefined ? {} : { sort };
  },
  component: lazyRouteComponent(() => import('./projects/ProjectsPage.tsx'), 'ProjectsPage'),
});

const keys = createRoute({
  getParentRoute: () => root,
  path: '/keys',
  validateSearch: (search: Record<string, unknown>): { sort?: string; ended?: true } => {
    const sort = text(search['sort']);
    return {
      ...(sort !== undefined && { sort }),
      ...(search['ended'] === true && { ended: true }),
    };
  },
  component: lazyRouteComponent(() => import('./keys/KeysPage.tsx'), 'KeysPage'),
});

const myKeys = createRoute({
  getParentRoute: () => root,
  path: '/my-keys',
  component: lazyRouteComponent(() => import('./keys/MyKeysPage.tsx'), 'MyKeysPage'),
});

const people = createRoute({
  getParentRoute: () => root,
  path: '/people',
  validateSearch: (search: Record<string, unknown>): { scope?: string } => {
    const scope = text(search['scope']);
    return scope === undefined ? {} : { scope };
  },
  component: lazyRouteComponent(() => import('./people/PeoplePage.tsx'), 'PeoplePage'),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: auditSearch,
  component: lazyRouteComponent(() => import('./audit/AuditPage.tsx'), 'AuditPage'),
});

const objects = createRoute({
  getParentRoute: () => project,
  path: '/objects',
  validateSearch: objectsSearch,
  component: lazyRouteComponent(() => import('./objects/ObjectsPage.tsx'), 'ObjectsPage'),
});

const object = createRoute({
  getParentRoute: () => project,
  path: '/objects/$objectId',
  validateSearch: objectSearch,
  component: lazyRouteComponent(() => import('./objects/ObjectPage.tsx'), 'ObjectPage'),
});

const queues = createRoute({
  getParentRoute: () => project,
  path: '/queues',
  component: lazyRouteComponent(() => import('./annotation/QueuesPage.tsx'), 'QueuesPage'),
});

const queue = createRoute({
  getParentRoute: () => project,
  path: '/queues/$queueId',
  validateSearch: queueSearch,
  component: lazyRouteComponent(() => import('./annotation/AnnotatePage.tsx'), 'AnnotatePage'),
});

const evaluations = createRoute({
  getParentRoute: () => project,
  path: '/evaluations',
  validateSearch: evaluationsSearch,
  component: lazyRouteComponent(
    () => import('./evaluations/EvaluationsPage.tsx'),
    'EvaluationsPage',
  ),
});

const comparison = createRoute({
  getParentRoute: () => project,
  path: '/evaluations/compare',
  validateSearch: compareSearch,
  component: lazyRouteComponent(() => import('./evaluations/ComparePage.tsx'), 'ComparePage'),
});

const leaderboards = createRoute({
  getParentRoute: () => project,
  path: '/evaluations/leaderboards',
  validateSearch: leaderboardsSearch,
  component: lazyRouteComponent(
    () => import('./evaluations/LeaderboardsPage.tsx'),
    'LeaderboardsPage',
  ),
});

const training = createRoute({
  getParentRoute: () => project,
  path: '/training',
  validateSearch: trainingSearch,
  component: lazyRouteComponent(() => import('./training/TrainingPage.tsx'), 'TrainingPage'),
});

const model = createRoute({
  getParentRoute: () => project,
  path: '/training/models/$modelId',
  validateSearch: modelSearch,
  component: lazyRouteComponent(() => import('./training/ModelPage.tsx'), 'ModelPage'),
});

const checkpoint = createRoute({
  getParentRoute: () => project,
  path: '/training/models/$modelId/checkpoints/$step',
  validateSearch: checkpointSearch,
  component: lazyRouteComponent(() => import('./training/CheckpointPage.tsx'), 'CheckpointPage'),
});

const job = createRoute({
  getParentRoute: () => project,
  path: '/training/jobs/$jobId',
  validateSearch: jobSearch,
  component: lazyRouteComponent(() => import('./training/JobPage.tsx'), 'JobPage'),
});

const build = createRoute({
  getParentRoute: () => project,
  path: '/training/builds/$buildId',
  validateSearch: buildSearch,
  component: lazyRouteComponent(() => import('./training/BuildPage.tsx'), 'BuildPage'),
});

const recipes = createRoute({
  getParentRoute: () => project,
  path: '/training/recipes',
  validateSearch: recipeSearch,
  component: lazyRouteComponent(() => import('./training/RecipePage.tsx'), 'RecipePage'),
});

const routeTree = root.addChildren([
  index,
  connect,
  projects,
  keys,
  myKeys,
  people,
  audit,
  project.addChildren([
    traces,
    trace,
    threads,
    thread,
    metrics,
    evaluations,
    comparison,
    leaderboards,
    objects,
    object,
    queues,
    queue,
    training,
    model,
    checkpoint,
    job,
    build,
    recipes,
  ]),
]);

export const makeRouter = () =>
  createRouter({
    routeTree,
    basepath: '/console',
    defaultPreload: 'intent',
    scrollRestoration: false,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
