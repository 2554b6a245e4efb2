import { readFileSync } from 'node:fs';

/** The committed description; `npm run check:generated` keeps it equal to what the service answers. */
const document = JSON.parse(readFileSync('openapi.json', 'utf8'));
const operations: [string, any][] = Object.entries<any>(document.paths).flatMap(([path, methods]) =>
  Object.entries<any>(methods).map(([method, operation]): [string, any] => [
    `${method.toUpperCase()} ${path}`,
    operation,
  ]),
);

describe('openapi.json', () => {
  it.each(operations)('%s says what it is, who may call it and how it fails', (name, operation) => {
    expect(operation.summary).toMatch(/\w\.?$/);
    expect(operation.tags).toHaveLength(1);
    const isPublic = ['GET /health', 'GET /ready', 'GET /server_info'].includes(name);
    expect(Boolean(operation.security)).toBe(!isPublic);
    expect(operation.responses['200']).toBeDefined();
    expect(operation.responses.default.content).toHaveProperty('application/problem+json');
  });

  it('gives every operation an id of its own', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(['CallsQueryDto', 'ObjectsQueryDto', 'CostsQueryDto', 'ThreadsQueryDto'])(
    'has limit and offset of %s',
    (name) =>
      expect(document.components.schemas[name].properties).toMatchObject({
        limit: { type: 'integer', minimum: 0 },
        offset: { type: 'integer', minimum: 0 },
      }),
  );

  it('has no dangling reference', () => {
    const refs = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name!,
    );
    for (const name of refs) expect(document.components.schemas).toHaveProperty(name);
  });
});
