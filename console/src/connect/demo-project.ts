/** Kept apart from demo.ts, which is loaded on demand. */
export const DEMO_PROJECT = 'demo/support';
