import type { TestApp } from '../../../test/support/app.js';

/** The time `second` seconds after the beginning of 2026, in ISO 8601. */
export const at = (second: number): string =>
  new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** A call. `ms` is its duration; it is absent for a running call. */
export type Recorded = Record<string, any> & { started_at: string };

export async function record(
  app: TestApp,
  project_id: string,
  calls: readonly Recorded[],
): Promise<void> {
  const batch = calls.flatMap(({ ms, exception, output, summary, ...start }) => [
    { mode: 'start', req: { start: { project_id, ...start } } },
    ...(ms === undefined
      ? []
      : [
          {
            mode: 'end',
            req: {
              end: {
                project_id,
                id: start['id'],
                ended_at: new Date(Date.parse(start.started_at) + ms).toISOString(),
                exception,
                output,
                summary,
              },
            },
          },
        ]),
  ]);
  const { body } = await app.post('/call/upsert_batch', { batch });
  const failed = body.res.filter((one: any) => one.error);
  if (failed.length > 0) throw new Error(JSON.stringify(failed));
}
