/** The time `second` seconds after the beginning of 2026. */
export const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** A start of a call in project acme/demo without optional members. A test overrides the members that it is about. */
export const aStart = (overrides: object = {}) => ({
  project_id: 'acme/demo',
  op_name: 'work',
  started_at: at(0),
  ...overrides,
});

/** The end of that call, one second later. */
export const anEnd = (overrides: object = {}) => ({
  project_id: 'acme/demo',
  ended_at: at(1),
  ...overrides,
});
