/** Matches a blank text, or an id of zeros, which OpenTelemetry uses for no span. */
const EMPTY_ID = /^(\s*|0{16}|0{32}|0{8}(-0{4}){3}-0{12})$/;

export const isEmptyId = (id: string): boolean => EMPTY_ID.test(id);
