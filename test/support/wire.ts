import { ALL_WIRE } from '../../src/platform/http/wire-names.js';

/** The names at the root of an app, which a suite may set to those of weave by `WIRE_DIALECT`. */
export const WIRE = ALL_WIRE.find(
  ({ scheme }) => scheme === (process.env['WIRE_DIALECT'] ?? 'svc'),
)!;
