import { linesOf, type TestApp } from './app.js';
import { anEnd, aStart } from './factories.js';

let projects = 0;

/** A project that no other test of the suite uses. */
export const aProject = () => `acme/calls-${++projects}`;

export type Calls = ReturnType<typeof callsOf>;

/** The operations on the calls of a project. */
export const callsOf = (app: TestApp, project_id: string) => {
  const stream = async (query: object = {}) =>
    linesOf(await app.post('/calls/stream_query', { project_id, ...query }));
  return {
    start: (overrides: object = {}) =>
      app.post('/call/start', { start: aStart({ project_id, ...overrides }) }),
    end: (overrides: object = {}) =>
      app.post('/call/end', { end: anEnd({ project_id, ...overrides }) }),
    read: async (id: string) => (await app.post('/call/read', { project_id, id })).body.call,
    stream,
    idsOf: async (query: object = {}): Promise<string[]> =>
      (await stream(query)).map(({ id }) => id),
  };
};
