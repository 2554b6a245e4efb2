import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runClient } from '../support/client.js';

/** Set by `npm run test:clients`, which creates the environment. Without it these tests are skipped. */
const folder = process.env['SKEIN_CLIENTS_VENV'];
const PATIENCE_MS = 300_000;

/** Operations of weave 0.54 that the service does not offer, of 118 (docs/clients/weave-python.md). */
const NOT_OFFERED = [
  'GET /project/sensitive_data_settings',
  'POST /calls/score',
  'POST /dataset_sources/link',
  'POST /dataset_sources/query',
  'POST /dataset_sources/source_datasets_query',
  'POST /evaluations/evaluate_model',
  'POST /evaluations/rescore',
  'POST /files/resolve_url',
  'POST /image/create',
  'POST /project/ingest_sampling_settings/read',
  'PUT /v2/{}/{}/runtimes/{}',
];

const unnamed = (operation: string) => operation.replaceAll(/\{[^}]*\}/g, '{}');

(folder ? describe : describe.skip)('PyPI weave', () => {
  it(
    'finds each operation that its SDK can ask for, but for eleven',
    async () => {
      const python = join(folder!, 'bin/python');
      const asked: string[] = await runClient(
        python,
        ['test/clients/weave-operations.program.py'],
        {},
      );
      const { paths } = JSON.parse(readFileSync('generated/openapi.json', 'utf8'));
      const offered = Object.entries<object>(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => unnamed(`${method.toUpperCase()} ${path}`)),
      );
      expect(asked.length).toBeGreaterThan(100);
      expect(
        asked
          .map(unnamed)
          .filter((operation) => !offered.includes(operation))
          .toSorted(),
      ).toEqual(NOT_OFFERED);
    },
    PATIENCE_MS,
  );
});
