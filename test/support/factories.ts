/** The instant so many seconds into 2026. */
export const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** A start in project acme/demo with nothing optional; override what the test is about. */
export const aStart = (overrides: object = {}) => ({
  project_id: 'acme/demo',
  op_name: 'work',
  started_at: at(0),
  ...overrides,
});

/** An end one second later. */
export const anEnd = (overrides: object = {}) => ({
  project_id: 'acme/demo',
  ended_at: at(1),
  ...overrides,
});
