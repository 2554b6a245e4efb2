/** What was asked is possible, but not now: too much of it is under way. The request is answered 503 with the message. */
export class Busy extends Error {}

/** A row of the answer is over its limit. The request is answered 413 with the message. */
export class RowTooLarge extends Error {}
