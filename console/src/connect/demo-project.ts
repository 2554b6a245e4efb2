/** Apart from what fills it, which is loaded when it is wanted. */
export const DEMO_PROJECT = 'demo/support';
