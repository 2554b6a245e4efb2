const NAMING_FIELD = /"\$getField":"(?:source|id|trace_id|parent_id|thread_id|turn_id)"/;

/** Returns true if a query names sources or calls: it then means calls of all sources. The console uses it too. */
export const isNaming = (query: object): boolean => NAMING_FIELD.test(JSON.stringify(query));
