/** Fields by which a query names sources or calls. */
const NAMING_FIELD = /"\$getField":"(?:source|id|trace_id|parent_id|thread_id|turn_id)"/;

/** Whether a query names sources or calls, so that it means all of them. The console reads it too. */
export const isNaming = (query: object): boolean => NAMING_FIELD.test(JSON.stringify(query));
