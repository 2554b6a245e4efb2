// SQL: expressions inside statements that read calls.
import { sql } from '../../platform/query/sql.js';

/** Matches calls (`c` by default) whose usage sums up that of other calls: docs/adr/0057-usage-with-descendants.md. */
export const addsUp = (call = sql`c`) =>
  sql`(coalesce(${call}.response_id, '') LIKE '~%' AND ${call}.usage -> 0 ->> 'requests' IS NOT DISTINCT FROM '0')`;

/** The usage of the call `c`; NULL when it sums up other calls. */
export const ownUsage = sql`(CASE WHEN NOT ${addsUp()} THEN c.usage END)`;

/** The stored numbers of each model of a call (`c` by default), as rows of `skein_detailed_usage`. */
export const usageRows = (call = sql`c`) =>
  sql`skein_detailed_usage(${call}.usage, ${call}.counts_gross)`;

/** The rows of `ownUsage`. */
export const ownUsageRows = sql`skein_detailed_usage(${ownUsage}, c.counts_gross)`;
