/** Too much work of this kind is under way. The request is answered 503 with the message. */
export class Busy extends Error {}

/** Work was stopped because it took longer than it may. The request is answered 503 with the message. */
export class TookTooLong extends Busy {}

/** A row of the answer is over its limit. The request is answered 413 with the message. */
export class RowTooLarge extends Error {}
