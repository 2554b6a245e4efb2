/** Thrown when too much work of this kind is under way. The request is answered 503 with the message. */
export class Busy extends Error {}

/** Thrown when work was stopped because it exceeded its time limit. The request is answered 503 with the message. */
export class TookTooLong extends Busy {}

/** Thrown when a row of the answer exceeds its size limit. The request is answered 413 with the message. */
export class RowTooLarge extends Error {}
