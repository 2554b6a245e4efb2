/**
 * Options with which swc compiles TypeScript for the build and for the tests, as tsc does with tsconfig.json.
 * @type {import('@swc/core').JscConfig}
 */
export const jsc = {
  parser: { syntax: 'typescript', decorators: true },
  transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
  target: 'es2023',
  keepClassNames: true,
  experimental: { keepImportAttributes: true },
};
