import { ALL_WIRE, wire } from '../../../platform/http/wire-names.js';

/** Returns the field of a value that the service derives of a call, as the client spells it. */
export const derivedField = (name: string): string => `summary.${wire().summary}.${name}`;

/** Returns true for a field below the derived part of the summary, in the spelling of any client. */
export const isDerived = (field: string): boolean =>
  ALL_WIRE.some(({ summary }) => `${field}.`.startsWith(`summary.${summary}.`));

/** The spellings of the name of a trace. */
export const TRACE_NAMES: readonly string[] = ALL_WIRE.map(
  ({ summary }) => `summary.${summary}.trace_name`,
);
