declare const isKey: unique symbol;

/** A key of the query cache. Only `keys` makes one. */
export type Key = readonly unknown[] & { readonly [isKey]: true };

declare module '@tanstack/react-query' {
  interface Register {
    queryKey: Key;
  }
}

/** The parts of each key, behind its name. */
interface KeyParts {
  session: [];
  projects: [];
  uses: [];
  retention: [project: string];
  olderData: [project: string, of: string, days: number | null];
  remarks: [project: string, callIds: string[]];

  annotationSpecs: [project: string];
  queues: [project: string];
  queue: [project: string, queueId: string];
  queueStats: [project: string, queueIds: string[]];
  queueProgress: [project: string, queueId: string];
  questions: [project: string, refs: readonly string[]];
  queueItem: [project: string, queueId: string, itemId: string];
  queuedCall: [project: string, callId: string];
  answers: [itemId: string, user: string];

  audit: [search: object];
  members: [scope: string | undefined];
  users: [];
  apiKeys: [of: 'own'];

  sampleCall: [project: string, callId: string];
  datasets: [project: string];
  firstCall: [project: string];

  evaluationRuns: [project: string, ids: readonly string[]];
  evaluationResults: [project: string, runs: unknown[]];
  evaluationsCompared: [project: string, ids: readonly string[]];
  evaluationRows: [request: object];
  leaderboards: [project: string];
  leaderboardRuns: [project: string, name: string, refs: string[]];

  stats: [project: string, search: object, by: string];
  scores: [project: string, search: object];

  objects: [project: string, filter: object, sort: string];
  objectValue: [project: string, objectId: string, digest: string];
  table: [table: object, page: number, sort: string | undefined];
  rowSources: [project: string, objectId: string, rows: string[]];
  erasedRows: [project: string, objectId: string];
  importPreview: [project: string | undefined, file: object];
  versionUses: [project: string, ref: string];

  threads: [project: string, order: object];
  thread: [project: string, threadId: string];

  trace: [project: string, traceId: string];
  traceSpending: [project: string, traceId: string, told: number];
  call: [project: string, callId: string, end: number | null];
  callMatches: [project: string, callId: string, texts: string[]];
  comparedCall: [project: string, callId: string | undefined];
  callBefore: [project: string, callId: string];
  costs: [project: string, callId: string];
  feedback: [callRef: string];

  traces: [request: object, order: object];
  tracesInView: [project: string, ids: string[]];
  waitingTraces: [request: object, rows: unknown[]];
  traceCount: [request: object];
  cellDocuments: [project: string, rows: object];
  matches: [project: string, callIds: string[], texts: string[]];
  sampleDocuments: [project: string, callIds: string[]];
  completion: [];
  views: [project: string];

  trainingList: [path: string, request: object];
  models: [entity: string, project: string];
  checkpoint: [modelId: string, step: number];
  aliases: [project: string, modelId: string];
  job: [jobId: string];
  jobEvents: [attempt: object];
  trajectories: [request: object];
  trajectoryIndex: [id: string];
  builds: [project: string, buildId: string | undefined];
  buildSamples: [project: string, buildId: string];
  callTraces: [project: string, callIds: readonly string[]];
  lineage: [project: string, of: object];
  tainted: [project: string, scope: object];
  rewardTerms: [project: string];
  recipes: [project: string];
  recipe: [project: string, name: string];
  buildPreview: [project: string, recipe: object, mode: string];
}

/**
 * Makes a key: its name, and its parts. Fewer parts are the beginning of several keys, to invalidate all of them. A
 * proxy keeps the names out of the first load.
 */
export const keys = new Proxy(
  {},
  {
    get:
      (_, name) =>
      (...parts: unknown[]) => [name, ...parts],
  },
) as { [Name in keyof KeyParts]: (...parts: Partial<KeyParts[Name]>) => Key };

/** The key of a list that begins behind a row. */
export const keyBehind = (list: Key, row: unknown): Key => [...list, row] as unknown as Key;
