import { wire } from '../../../platform/http/wire-names.js';

/** Returns the field of a value that the service derives of a call, as the client spells it. */
export const derivedField = (name: string): string => `summary.${wire().summary}.${name}`;
