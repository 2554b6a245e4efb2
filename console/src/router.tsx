import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router';
import { queueSearch } from './annotation/search.ts';
import { recentProjects } from './api/recent-projects.ts';
import { onlyKnown, textIn } from './api/search.ts';
import { auditSearch } from './audit/search.ts';
import { compareSearch, evaluationsSearch, leaderboardsSearch } from './evaluations/search.ts';
import { metricsSearch } from './metrics/search.ts';
import { objectSearch, objectsSearch } from './objects/search.ts';
import { lazyPage } from './shell/lazy-page.ts';
import { PageFault } from './shell/PageFault.tsx';
import { ProjectPages } from './shell/ProjectPages.tsx';
import { Shell } from './shell/Shell.tsx';
import { threadsSearch } from './threads/search.ts';
import { traceSearch } from './trace/search.ts';
import { tracesSearch } from './traces/request.ts';
import {
  buildSearch,
  checkpointSearch,
  jobSearch,
  modelSearch,
  recipeSearch,
  trainingSearch,
} from './training/search.ts';

const root = createRootRoute({
  component: Shell,
  notFoundComponent: lazyPage(() => import('./shell/MissingPages.tsx'), 'NoPage'),
});

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

const connect = createRoute({
  getParentRoute: () => root,
  path: '/connect',
  validateSearch: onlyKnown((search: Record<string, unknown>): { project?: string } => {
    const project = textIn(search['project']);
    return project === undefined ? {} : { project };
  }),
  component: lazyPage(() => import('./connect/ConnectPage.tsx'), 'ConnectPage'),
});

const project = createRoute({
  getParentRoute: () => root,
  path: '/p/$entity/$project',
  component: ProjectPages,
});

const traces = createRoute({
  getParentRoute: () => project,
  path: '/traces',
  validateSearch: onlyKnown(tracesSearch),
  component: lazyPage(() => import('./traces/TracesPage.tsx'), 'TracesPage'),
});

const trace = createRoute({
  getParentRoute: () => project,
  path: '/traces/$traceId',
  validateSearch: onlyKnown(traceSearch),
  component: lazyPage(() => import('./trace/TracePage.tsx'), 'TracePage'),
});

const threads = createRoute({
  getParentRoute: () => project,
  path: '/threads',
  validateSearch: onlyKnown(threadsSearch),
  component: lazyPage(() => import('./threads/ThreadsPage.tsx'), 'ThreadsPage'),
});

const thread = createRoute({
  getParentRoute: () => project,
  path: '/threads/$threadId',
  component: lazyPage(() => import('./threads/ThreadPage.tsx'), 'ThreadPage'),
});

const metrics = createRoute({
  getParentRoute: () => project,
  path: '/metrics',
  validateSearch: onlyKnown(metricsSearch),
  component: lazyPage(() => import('./metrics/MetricsPage.tsx'), 'MetricsPage'),
});

const projects = createRoute({
  getParentRoute: () => root,
  path: '/projects',
  validateSearch: onlyKnown((search: Record<string, unknown>): { sort?: string } => {
    const sort = textIn(search['sort']);
    return sort === undefined ? {} : { sort };
  }),
  component: lazyPage(() => import('./projects/ProjectsPage.tsx'), 'ProjectsPage'),
});

const keys = createRoute({
  getParentRoute: () => root,
  path: '/keys',
  validateSearch: onlyKnown((search: Record<string, unknown>): { sort?: string; ended?: true } => {
    const sort = textIn(search['sort']);
    return {
      ...(sort !== undefined && { sort }),
      ...(search['ended'] === true && { ended: true }),
    };
  }),
  component: lazyPage(() => import('./keys/KeysPage.tsx'), 'KeysPage'),
});

const myKeys = createRoute({
  getParentRoute: () => root,
  path: '/my-keys',
  component: lazyPage(() => import('./keys/MyKeysPage.tsx'), 'MyKeysPage'),
});

const people = createRoute({
  getParentRoute: () => root,
  path: '/people',
  validateSearch: onlyKnown((search: Record<string, unknown>): { scope?: string } => {
    const scope = textIn(search['scope']);
    return scope === undefined ? {} : { scope };
  }),
  component: lazyPage(() => import('./people/PeoplePage.tsx'), 'PeoplePage'),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: onlyKnown(auditSearch),
  component: lazyPage(() => import('./audit/AuditPage.tsx'), 'AuditPage'),
});

const objects = createRoute({
  getParentRoute: () => project,
  path: '/objects',
  validateSearch: onlyKnown(objectsSearch),
  component: lazyPage(() => import('./objects/ObjectsPage.tsx'), 'ObjectsPage'),
});

const object = createRoute({
  getParentRoute: () => project,
  path: '/objects/$objectId',
  validateSearch: onlyKnown(objectSearch),
  component: lazyPage(() => import('./objects/ObjectPage.tsx'), 'ObjectPage'),
});

const queues = createRoute({
  getParentRoute: () => project,
  path: '/queues',
  component: lazyPage(() => import('./annotation/QueuesPage.tsx'), 'QueuesPage'),
});

const queue = createRoute({
  getParentRoute: () => project,
  path: '/queues/$queueId',
  validateSearch: onlyKnown(queueSearch),
  component: lazyPage(() => import('./annotation/AnnotatePage.tsx'), 'AnnotatePage'),
});

const evaluations = createRoute({
  getParentRoute: () => project,
  path: '/evaluations',
  validateSearch: onlyKnown(evaluationsSearch),
  component: lazyPage(() => import('./evaluations/EvaluationsPage.tsx'), 'EvaluationsPage'),
});

const comparison = createRoute({
  getParentRoute: () => project,
  path: '/evaluations/compare',
  validateSearch: onlyKnown(compareSearch),
  component: lazyPage(() => import('./evaluations/ComparePage.tsx'), 'ComparePage'),
});

const leaderboards = createRoute({
  getParentRoute: () => project,
  path: '/evaluations/leaderboards',
  validateSearch: onlyKnown(leaderboardsSearch),
  component: lazyPage(() => import('./evaluations/LeaderboardsPage.tsx'), 'LeaderboardsPage'),
});

const retention = createRoute({
  getParentRoute: () => project,
  path: '/retention',
  component: lazyPage(() => import('./retention/RetentionPage.tsx'), 'RetentionPage'),
});

const training = createRoute({
  getParentRoute: () => project,
  path: '/training',
  validateSearch: onlyKnown(trainingSearch),
  component: lazyPage(() => import('./training/overview/TrainingPage.tsx'), 'TrainingPage'),
});

const model = createRoute({
  getParentRoute: () => project,
  path: '/training/models/$modelId',
  validateSearch: onlyKnown(modelSearch),
  component: lazyPage(() => import('./training/models/ModelPage.tsx'), 'ModelPage'),
});

const checkpoint = createRoute({
  getParentRoute: () => project,
  path: '/training/models/$modelId/checkpoints/$step',
  validateSearch: onlyKnown(checkpointSearch),
  component: lazyPage(() => import('./training/models/CheckpointPage.tsx'), 'CheckpointPage'),
});

const job = createRoute({
  getParentRoute: () => project,
  path: '/training/jobs/$jobId',
  validateSearch: onlyKnown(jobSearch),
  component: lazyPage(() => import('./training/jobs/JobPage.tsx'), 'JobPage'),
});

const build = createRoute({
  getParentRoute: () => project,
  path: '/training/builds/$buildId',
  validateSearch: onlyKnown(buildSearch),
  component: lazyPage(() => import('./training/builds/BuildPage.tsx'), 'BuildPage'),
});

const recipes = createRoute({
  getParentRoute: () => project,
  path: '/training/recipes',
  validateSearch: onlyKnown(recipeSearch),
  component: lazyPage(() => import('./training/recipes/RecipePage.tsx'), 'RecipePage'),
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
    retention,
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
    defaultErrorComponent: PageFault,
    scrollRestoration: false,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
