/**
 * The import rules of docs/architecture.md and console/README.md, as errors. Five wings: server → doors and training →
 * tracing → platform. A feature is a folder of tracing/, training/ or doors/; a file beside the folders of a wing
 * belongs to all of them.
 */
const FEATURE = '^src/(tracing|training|doors)/([^/.]+)/';

/** Files of a feature that other features may import. */
const SHARED = [
  '^src/$1/$2/',
  // a DTO is the contract of a feature: others take, answer and embed the same shapes
  '^src/(tracing|training)/.*[.](dto|entity|module|service)[.]ts$',
  // rules without a connection, of which all features and doors need the same
  '^src/tracing/(conventions|pricing|statistics|usage)/',
];

/** What lies above each wing. */
const ABOVE = {
  platform: 'tracing|training|doors|server',
  tracing: 'training|doors|server',
  training: 'doors|server',
  doors: 'server',
};

/** Who in platform/ may import what of it. What is not here may import all but postgres/. */
const PLATFORM = {
  '(query|statistics|time)': ['$1'],
  config: ['config', 'roles[.]ts'], // settings name roles
  '[a-z-]+[.]ts': ['json', 'query', '[a-z-]+[.]ts'],
  process: ['process', 'config', '[a-z-]+[.]ts'],
  http: ['http', 'config', 'query', 'json', 'time', 'process', '[a-z-]+[.]ts'],
  pg: ['pg', 'query', 'process', '[a-z-]+[.]ts'],
  database: ['database', 'pg', 'config', 'query', 'json', 'time', 'process', '[a-z-]+[.]ts'],
  postgres: ['postgres'],
};

/** The folders of console/src that belong to all pages. */
const OF_ALL_PAGES = '^console/src/(api|ui|json)/';

const error = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

module.exports = {
  forbidden: [
    error('no-circular', 'move what both need into a third file', {}, { circular: true }),
    ...Object.entries(ABOVE).map(([wing, above]) =>
      error(
        `${wing}-knows-nothing-above`,
        'wings depend on those below: let the feature register itself, or pass a value',
        { path: `^src/${wing}/` },
        { path: `^src/(${above})/|^src/(main|app[.]module)[.]ts$|^ormconfig[.]ts$` },
      ),
    ),
    error(
      'features-stay-apart',
      'a feature reaches another only through its entity, its DTOs, or a service its module exports',
      { path: FEATURE, pathNot: '^src/doors/weave/' },
      { path: FEATURE, pathNot: SHARED },
    ),
    error(
      'features-stay-apart: weave',
      "weave's completions are requests through the gateway, and it shares no more with other doors",
      { path: FEATURE.replace('([^/.]+)', '(weave)') },
      { path: FEATURE, pathNot: ['^src/doors/gateway/', ...SHARED] },
    ),
    ...Object.entries(PLATFORM).map(([room, below]) =>
      error(
        `platform-in-layers: ${room}`,
        'what needs more belongs to a room above, or to a feature',
        { path: `^src/platform/${room}(/|$)` },
        { path: '^src/platform/', pathNot: `^src/platform/(${below.join('|')})(/|$)` },
      ),
    ),
    error(
      'names-are-neutral',
      'only doors/weave/ knows weave: write neutral names, refTo() and derivedField(), which spell what a client reads',
      {
        path: '^src/',
        pathNot: [
          '^src/doors/weave/',
          '[.]query[.]ts$', // PostgreSQL prints answers, with the names of their fields
          '^src/platform/(http/(refs|validation)|auth/dialect[.]guard|operations/operations[.]controller)[.]ts$',
          '^src/tracing/(calls/(read/derived-field|stats/call-stats[.]dto)|feedback/feedback[.]controller)[.]ts$',
          '^src/doors/(mcp/call-rows|export/export-columns)[.]ts$',
        ],
      },
      { path: '^src/platform/http/wire-names[.]ts$' },
    ),
    error(
      'json-imports-nothing',
      'the console reads JSON text by the same grammar',
      { path: '^src/platform/json/' },
      { pathNot: '^src/platform/json/' },
    ),
    error(
      'auth-stands-below-the-rest',
      'auth/ knows only where its events are written',
      { path: '^src/platform/auth/' },
      {
        path: '^src/platform/(audit|erasing|events|backup|operations)/',
        pathNot: '^src/platform/audit/(add-event|audit[.]module|key-uses)[.]ts$',
      },
    ),
    error(
      'only-the-server-opens-postgres',
      'everything else takes a connection of Database',
      { path: '^src/', pathNot: '^src/(platform/postgres|server)/' },
      { path: '^src/platform/postgres/' },
    ),
    error(
      'only-one-room-knows-pg',
      'platform/pg/ says what is relied upon, and test/platform/pg.e2e-spec.ts tries it: take what you need from there',
      { path: '^src/|^ormconfig[.]ts$', pathNot: '^src/platform/pg/' },
      { path: 'node_modules/(@types/)?pg/|^typeorm/driver/|node_modules/typeorm/driver/' },
    ),
    error(
      'settings-are-injected',
      'the settings of the process are for its programs; an app has its own: @Inject(CONFIG)',
      {
        path: '^src/',
        pathNot: '^src/(main[.]ts|server/)|^src/platform/process/logger[.]ts$',
      },
      { path: '^src/platform/config/process-config[.]ts$' },
    ),
    error(
      'only-the-edge-knows-express',
      'a handler gets a Context (platform/http/context.ts), and hands it to its services',
      {
        path: '^src/',
        pathNot: '^src/(platform/(http|auth)|server|doors/console)/|/trainer[.]controller[.]ts$',
      },
      { path: 'node_modules/(@types/)?express/' },
    ),
    error(
      'controllers-write-no-sql',
      'let a service run the statement, and a query file write it',
      { path: '[.]controller[.]ts$' },
      { path: '^src/platform/(query|database)/|[.]query[.]ts$' },
    ),
    error(
      'features-ask-the-database-service',
      'statements are made in *.query.ts as sql`…`, and run by Database: nothing else takes text. Services may import the operators of a repository, no more (.oxlintrc.json)',
      { path: '^src/(tracing|training|doors)/', pathNot: '[.](entity|service)[.]ts$' },
      { path: 'node_modules/(@nestjs/)?(typeorm|pg|pg-[a-z-]+)/' },
    ),
    error(
      'features-open-no-connection',
      'Database has the connections',
      { path: '^src/(tracing|training|doors)/' },
      { path: 'node_modules/(@nestjs/typeorm|pg-[a-z-]+)/|^src/platform/pg/' },
    ),
    error(
      'entities-know-only-typeorm',
      'an entity says what the table is, with which roles, and what its changes are called, and nothing else',
      { path: '[.]entity[.]ts$' },
      {
        path: '^src/',
        pathNot: '[.]entity[.]ts$|^src/platform/(roles|database/(project-table|changes))[.]ts$',
      },
    ),
    error(
      'migrations-are-frozen',
      'what a migration did must not change with the code: copy into it what it needs',
      { path: '^src/platform/database/migrations/' },
      { path: '^src/' },
    ),
    error(
      'nobody-imports-the-entry-points',
      'move what is needed out of the entry point',
      { path: '^src/', pathNot: '^src/(main|server/.*)[.]ts$' },
      { path: '^src/(main|app[.]module)[.]ts$|^src/server/|^ormconfig[.]ts$|[.]cli[.]ts$' },
    ),
    error(
      'no-test-code-in-src',
      'move what both need into src/',
      { path: '^src/' },
      { path: '^(test|bench|scripts)/' },
    ),
    error(
      'console-pages-stay-apart',
      'move what two pages need into api/, ui/ or json/. collect/ is for all pages that show calls: it has the dialogs that put calls into queues and datasets',
      { path: '^console/src/([^/]+)/', pathNot: OF_ALL_PAGES },
      {
        path: '^console/src/[^/]+/',
        pathNot: ['^console/src/$1/', OF_ALL_PAGES, '^console/src/collect/'],
      },
    ),
    error(
      'training-pages-stay-apart',
      'move what two pages of training need into a file beside their folders',
      { path: '^console/src/training/([^/]+)/' },
      { path: '^console/src/training/[^/]+/', pathNot: '^console/src/training/$1/' },
    ),
    error(
      'training-files-know-no-page',
      'a file beside the folders of training/ belongs to all of them: pass a value',
      { path: '^console/src/training/[^/]+$' },
      { path: '^console/src/training/[^/]+/' },
    ),
    error(
      'console-folders-of-all-pages-know-none',
      'api/, ui/ and json/ are below the pages: pass a value',
      { path: OF_ALL_PAGES },
      { path: '^console/src/', pathNot: OF_ALL_PAGES },
    ),
    error(
      'console-queries-are-below-components',
      'a query knows no component, so that each part of a page can use it',
      { path: '^console/src/.*/queries[.]ts$' },
      { path: '[.]tsx$' },
    ),
    error(
      'console-shares-only-json-with-src',
      'the console talks to the service over HTTP, and its types come from openapi.json',
      { path: '^console/src/' },
      {
        path: '^src/',
        pathNot: [
          '^src/platform/json/',
          '^src/tracing/naming[.]ts$', // pure, and one rule for the list and the service
        ],
      },
    ),
    error(
      'src-knows-no-console',
      'the console is built from console/, and served as files',
      { path: '^src/' },
      { path: '^console/' },
    ),
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
