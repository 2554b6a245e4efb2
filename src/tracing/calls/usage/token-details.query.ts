import { join, sql, type Sql } from '../../../platform/query/sql.js';
import { DETAILS, TOKEN_KINDS, type Tokens } from '../../usage/tokens.js';

/** Subscripts of `DETAILS` in an array. */
const PLACES = [
  sql`[1]`,
  sql`[2]`,
  sql`[3]`,
  sql`[4]`,
  sql`[5]`,
  sql`[6]`,
  sql`[7]`,
  sql`[8]`,
  sql`[9]`,
  sql`[10]`,
  sql`[11]`,
] as const satisfies { length: (typeof DETAILS)['length'] };

/** Returns the sums of arrays of details, element by element. NULL if all arrays are NULL, as for most calls. */
export const detailSums = (details: Sql): Sql =>
  sql`CASE WHEN count(${details}) > 0 THEN ARRAY[${join(
    PLACES.map((place) => sql`coalesce(sum(${details}${place}), 0)`),
  )}] END`;

/**
 * Returns the details of a call without those of the calls below it, limited to the tokens that are left:
 * `detailsLeft`.
 */
export const detailsLeft = (own: Sql, below: Sql, tokens: Record<keyof Tokens, Sql>): Sql =>
  sql`CASE WHEN ${own} IS NOT NULL THEN skein_details_left(${own}, ${below},
    ARRAY[${join(TOKEN_KINDS.map((kind) => tokens[kind]))}], ${DETAILS.map(([, kind]) => TOKEN_KINDS.indexOf(kind) + 1)}::int[]) END`;
