import { linesOf, type TestApp } from './app.js';
import { anEnd, aStart } from './factories.js';

export const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** Operations on calls. Each test of the surrounding block has a project of its own. */
export function useCalls(app: TestApp) {
  let projects = 0;
  let project_id: string;
  beforeEach(() => {
    project_id = `acme/calls-${++projects}`;
  });
  const stream = async (query: object = {}) =>
    linesOf(await app.post('/calls/stream_query', { project_id, ...query }));
  return {
    get project_id() {
      return project_id;
    },
    start: (overrides: object = {}) =>
      app.post('/call/start', { start: aStart({ project_id, ...overrides }) }),
    end: (overrides: object = {}) =>
      app.post('/call/end', { end: anEnd({ project_id, ...overrides }) }),
    read: async (id: string) => (await app.post('/call/read', { project_id, id })).body.call,
    stream,
    idsOf: async (query: object = {}): Promise<string[]> =>
      (await stream(query)).map(({ id }) => id),
  };
}
