const { readdirSync } = require('node:fs');

/** What every feature may use. Each other folder of src/ is a feature. */
const SHARED = ['audit', 'auth', 'common', 'database', 'erasing', 'postgres', 'query'];
const FEATURES = readdirSync(`${__dirname}/src`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !SHARED.includes(entry.name))
  .map(({ name }) => name)
  .join('|');

/** The import rules of docs/architecture.md, as errors. */
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'move what both need into a third file',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'features-stay-apart',
      comment: 'a feature reaches another only through its entity, or a service its module exports',
      severity: 'error',
      from: { path: `^src/(${FEATURES})/` },
      to: {
        path: `^src/(${FEATURES})/`,
        pathNot: ['^src/$1/', '[.](entity|module|service)[.]ts$'],
      },
    },
    {
      name: 'rooms-of-preview-stay-apart',
      comment: 'a room reaches another only through its entity or its service',
      severity: 'error',
      from: { path: '^src/preview/([a-z]+)/' },
      to: {
        path: '^src/preview/[a-z]+/',
        pathNot: ['^src/preview/$1/', '[.](entity|service)[.]ts$'],
      },
    },
    {
      name: 'shared-knows-no-feature',
      comment:
        'features depend on what they share: let the feature register itself, or pass a value',
      severity: 'error',
      from: { path: `^src/(${SHARED.join('|')})/|^src/config[.]ts$` },
      to: { path: `^src/(${FEATURES})/` },
    },
    {
      name: 'settings-are-injected',
      comment:
        'the settings of the process are for its programs; an app has its own: @Inject(CONFIG)',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '^src/(main|server|command|workers)[.]ts$|[.]cli[.]ts$|^src/common/(logger|wire)[.]ts$',
      },
      to: { path: '^src/process-config[.]ts$' },
    },
    {
      name: 'query-is-pure',
      comment: 'statements are made without a connection and without settings',
      severity: 'error',
      from: { path: '^src/query/' },
      to: { pathNot: '^src/query/' },
    },
    {
      name: 'common-knows-query-and-config',
      comment: 'what needs keys or a connection belongs to auth/, database/ or a feature',
      severity: 'error',
      from: { path: '^src/common/' },
      to: { path: '^src/(auth|database)/' },
    },
    {
      name: 'database-knows-query-and-config',
      comment: 'what needs more belongs to a feature',
      severity: 'error',
      from: { path: '^src/database/', pathNot: '[.]cli[.]ts$' },
      to: { path: '^src/(auth|common)/', pathNot: '^src/common/(logger|metrics|refusals)[.]ts$' },
    },
    {
      name: 'postgres-stands-alone',
      comment:
        'the embedded server knows nothing of the service that runs it, and only its starters know it',
      severity: 'error',
      from: { path: '^src/postgres/' },
      to: { path: '^src/', pathNot: '^src/postgres/' },
    },
    {
      name: 'only-starters-open-postgres',
      comment: 'everything else takes a connection of Database',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(postgres/|(server|command)[.]ts$)' },
      to: { path: '^src/postgres/' },
    },
    {
      name: 'controllers-write-no-sql',
      comment: 'let a service run the statement, and a query file write it',
      severity: 'error',
      from: { path: '[.]controller[.]ts$' },
      to: { path: '^src/(query|database)/|[.]query[.]ts$' },
    },
    {
      name: 'features-ask-the-database-service',
      comment:
        'statements are made in *.query.ts as sql`…`, and run by Database: nothing else takes text',
      severity: 'error',
      from: { path: `^src/(${FEATURES})/`, pathNot: '[.]entity[.]ts$|^src/(backup|operations)/' },
      to: { path: 'node_modules/(@nestjs/)?(typeorm|pg|pg-[a-z-]+)/' },
    },
    {
      name: 'entities-know-only-typeorm',
      comment: 'an entity says what the table is, and nothing else',
      severity: 'error',
      from: { path: '[.]entity[.]ts$' },
      to: { path: '^src/', pathNot: '[.]entity[.]ts$' },
    },
    {
      name: 'migrations-are-frozen',
      comment: 'what a migration did must not change with the code: copy into it what it needs',
      severity: 'error',
      from: { path: '^src/database/migrations/' },
      to: { path: '^src/' },
    },
    {
      name: 'nobody-imports-the-entry-points',
      comment: 'move what is needed out of the entry point',
      severity: 'error',
      from: { pathNot: '^src/(main|app|server|[a-z]+/[a-z-]+[.]cli)[.]ts$' },
      to: { path: '^src/main[.]ts$|^src/app[.]module[.]ts$|^ormconfig[.]ts$|[.]cli[.]ts$' },
    },
    {
      name: 'no-test-code-in-src',
      comment: 'move what both need into src/',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts)/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '[.]spec[.]ts$' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};
