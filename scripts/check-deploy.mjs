// npm run check:deploy checks the files in deploy/ with the tools that are installed, and prints a line for each
// check that it could not do. `--write` writes deploy/kubernetes and the files of the chart again. CONTRIBUTING.md
// names the sources of helm, of the schemas and of promtool.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Ajv } from 'ajv';
import { parseAllDocuments, stringify } from 'yaml';
import { inTemporaryFolder } from './temporary-folder.mjs';

const CHART = 'deploy/helm/skein';
const MANIFESTS = 'deploy/kubernetes/skein.yaml';
const MANIFESTS_HEAD = `# The chart in deploy/helm/skein with its values as they are: npm run check:deploy -- --write makes it. Change the namespace,
# make the Secrets that docs/operate/kubernetes.md names, and kubectl apply -f skein.yaml. The first new pod migrates the database.
`;
/** A chart takes files of its own folder only, so these are copies. */
const COPIES = {
  [`${CHART}/files/alerts.yaml`]: 'deploy/prometheus/alerts.yaml',
  [`${CHART}/files/skein.json`]: 'deploy/grafana/skein.json',
};
/** Resources that are no part of Kubernetes, by their group: the Go module with their schemas, and its folder. */
const CUSTOM = {
  'monitoring.coreos.com': [
    'github.com/prometheus-operator/prometheus-operator',
    'example/prometheus-operator-crd',
  ],
  'gateway.networking.k8s.io': ['sigs.k8s.io/gateway-api', 'config/crd/standard'],
};
/** Arguments of `helm template`, with the version of the schema below: a helm that Go has built knows no version. */
const TEMPLATE = ['template', 'skein', CHART, '--namespace', 'skein', '--kube-version', '1.34.0'];
const problems = [];
const unchecked = [];

/** @param {import('ajv').ErrorObject} error */
const describe = ({ instancePath, keyword, message, params }) =>
  `${instancePath}${Object.values(params)
    .map((value) => ` ${JSON.stringify(value)}`)
    .join('')} ${keyword}: ${message}`;

/** Runs a program. When it fails, its output becomes a problem. */
function run(program, ...args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0)
    problems.push(`${program} ${args.join(' ')}\n${error?.message ?? stdout + stderr}`);
  return stdout;
}

const has = (program, ...args) => spawnSync(program, args).status === 0;

function documents(text, file) {
  const parsed = parseAllDocuments(text, { uniqueKeys: true });
  for (const { errors } of parsed)
    for (const { message } of errors) problems.push(`${file}: ${message}`);
  return parsed.map((document) => document.toJS()).filter((document) => document !== null);
}

/** Merges values as helm does: null removes a value. */
function laidOver(below, above) {
  const merged = { ...below };
  for (const [name, value] of Object.entries(above)) {
    const isMap = (it) => typeof it === 'object' && it !== null && !Array.isArray(it);
    if (value === null) delete merged[name];
    else merged[name] = isMap(value) && isMap(below[name]) ? laidOver(below[name], value) : value;
  }
  return merged;
}

function checkValues() {
  const read = (file) => documents(readFileSync(file, 'utf8'), file)[0];
  const schema = JSON.parse(readFileSync(`${CHART}/values.schema.json`, 'utf8'));
  const validate = new Ajv({
    allErrors: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
  }).compile(schema);
  const defaults = read(`${CHART}/values.yaml`);
  for (const file of valuesFiles())
    if (!validate(laidOver(defaults, read(file))))
      problems.push(`${file}\n${validate.errors.map(describe).join('\n')}`);
  for (const name of Object.keys(defaults))
    if (!(name in schema.properties)) problems.push(`the schema has no ${name}`);
  for (const { values, names } of read(`${CHART}/ci/refused.yaml`)) {
    const isRefused = !validate(laidOver(defaults, values));
    if (!isRefused || !validate.errors.map(describe).join('\n').includes(names))
      problems.push(`the schema takes ${JSON.stringify(values)}, or does not name ${names}`);
  }
}

const valuesFiles = () =>
  readdirSync(`${CHART}/ci`)
    .filter((name) => name !== 'refused.yaml')
    .map((name) => `${CHART}/ci/${name}`);

/** Returns the folder of the newest version of a module in Go's cache, if there is one. */
function goModule(name) {
  const cache = spawnSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' }).stdout?.trim();
  const folder = cache && join(cache, dirname(name));
  const newest =
    folder &&
    existsSync(folder) &&
    readdirSync(folder)
      .filter((version) => version.startsWith(`${basename(name)}@v`))
      .toSorted()
      .at(-1);
  return newest ? join(folder, newest) : undefined;
}

const newAjv = () => new Ajv({ strict: false, validateFormats: false, allErrors: true });

/**
 * Returns a check of objects against the schema of Kubernetes: KUBERNETES_OPENAPI, or the schema in the newest module
 * of Kubernetes in Go's cache. Returns null without a schema.
 */
function kubernetesSchema() {
  const folder = goModule('k8s.io/kubernetes');
  const file =
    process.env.KUBERNETES_OPENAPI ?? (folder && join(folder, 'api/openapi-spec/swagger.json'));
  if (!file) return null;
  const { definitions } = JSON.parse(readFileSync(file, 'utf8'));
  for (const definition of Object.values(definitions)) {
    // Kubernetes drops unknown fields, so a misspelt one would have no effect.
    if (definition.properties) definition.additionalProperties ??= false;
    for (const [name, property] of Object.entries(definition.properties ?? {}))
      if (property.format === 'int-or-string')
        definition.properties[name] = { type: ['integer', 'string'] };
  }
  Object.assign(definitions['io.k8s.apimachinery.pkg.util.intstr.IntOrString'], {
    type: ['integer', 'string'],
  });
  Object.assign(definitions['io.k8s.apimachinery.pkg.api.resource.Quantity'], {
    type: ['integer', 'string'],
  });
  const ajv = newAjv();
  ajv.addSchema({ $id: 'kubernetes', definitions });
  return (object) => {
    const [group, version] = object.apiVersion.includes('/')
      ? object.apiVersion.split('/')
      : ['', object.apiVersion];
    const name = Object.keys(definitions).find((key) =>
      definitions[key]['x-kubernetes-group-version-kind']?.some(
        (it) => it.kind === object.kind && it.group === group && it.version === version,
      ),
    );
    if (!name) return [`is of no kind that there is: ${object.apiVersion} ${object.kind}`];
    const validate = ajv.getSchema(`kubernetes#/definitions/${name}`);
    return validate(object) ? [] : validate.errors.map(describe);
  };
}

/** Returns what is wrong with an object of CUSTOM. */
function customProblems(object) {
  const [group, version] = object.apiVersion.split('/');
  const [module, folder] = CUSTOM[group];
  const found = goModule(module);
  if (!found) {
    const line = `no module ${module} is here, so its objects were not compared with its schemas`;
    if (!unchecked.includes(line)) unchecked.push(line);
    return [];
  }
  const file = join(found, folder, `${group}_${object.kind.toLowerCase()}s.yaml`);
  if (!existsSync(file)) return [`is of no kind that there is: ${object.apiVersion}`];
  const [{ spec }] = documents(readFileSync(file, 'utf8'), file);
  const known = spec.versions.find(({ name }) => name === version);
  if (!known) return [`has no version ${version}`];
  const validate = newAjv().compile(closed(known.schema.openAPIV3Schema, true));
  return validate(object) ? [] : validate.errors.map(describe);
}

/**
 * Refuses unknown fields at each level of a schema. At the top, `metadata` is that of every object. Patterns are
 * written for Go, and are left out.
 */
function closed(schema, isTop = false) {
  const properties = Object.entries(schema.properties ?? {}).map(([name, below]) => [
    name,
    isTop && name === 'metadata' ? below : closed(below),
  ]);
  return {
    ...schema,
    pattern: '',
    ...(schema.properties && {
      properties: Object.fromEntries(properties),
      additionalProperties: schema['x-kubernetes-preserve-unknown-fields'] === true,
    }),
    ...(schema.items && { items: closed(schema.items) }),
  };
}

/** Finds mistakes that the schema of Kubernetes does not cover. */
function findMistakes({ kind, metadata, spec }, others) {
  const found = [];
  const pod = (spec?.jobTemplate?.spec ?? spec)?.template?.spec;
  for (const container of pod?.containers ?? []) {
    const { image, env, volumeMounts, securityContext } = container;
    const { startupProbe, livenessProbe, readinessProbe } = container;
    for (const { name, value } of env ?? [])
      if (/^[\d.]+e[+]\d+$/.test(value)) found.push(`${name} is ${value}`);
    const names = env.map(({ name }) => name);
    if (new Set(names).size < names.length) found.push('a setting is there twice');
    for (const { name } of volumeMounts) {
      const claims = (spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name);
      if (![...pod.volumes.map((volume) => volume.name), ...claims].includes(name))
        found.push(`there is no volume ${name}`);
    }
    if (!securityContext.readOnlyRootFilesystem || !pod.securityContext.runAsNonRoot)
      found.push('it may write its root, or be root');
    if (!/[:@]/.test(image)) found.push(`the image ${image} has no version`);
    // Strangers at the address of the node must not delay them.
    for (const probe of [startupProbe, livenessProbe, readinessProbe])
      if (probe && probe.httpGet.port !== 'operations') found.push('a probe asks another port');
  }
  for (const { name, port } of (spec?.rules ?? []).flatMap(
    ({ backendRefs }) => backendRefs ?? [],
  )) {
    const service = others.find(
      (other) => other.kind === 'Service' && other.metadata.name === name,
    );
    if (!service?.spec.ports.some((own) => own.port === port))
      found.push(`no Service ${name} has the port ${port}`);
  }
  const selected =
    kind === 'Service' ? spec.selector : (spec?.podSelector ?? spec?.selector)?.matchLabels;
  const labels = others.map(
    (other) =>
      (kind === 'ServiceMonitor' ? other.metadata.labels : other.spec?.template?.metadata.labels) ??
      {},
  );
  const isMatched =
    selected &&
    labels.some((own) => Object.entries(selected).every(([name, value]) => own[name] === value));
  if (selected && !isMatched) found.push('it selects nothing');
  return found.map((what) => `${kind} ${metadata.name}: ${what}`);
}

function checkChart() {
  const validate = kubernetesSchema();
  if (!validate)
    unchecked.push('no schema of Kubernetes is here, so its objects were not compared with it');
  for (const file of valuesFiles()) {
    run('helm', 'lint', '--strict', '--quiet', CHART, '--values', file);
    const made = documents(run('helm', ...TEMPLATE, '--values', file) ?? '', file);
    if (made.length === 0) problems.push(`${file} makes nothing`);
    for (const object of made) {
      const isCustom = object.apiVersion.split('/')[0] in CUSTOM;
      for (const problem of (isCustom ? customProblems : validate)?.(object) ?? [])
        problems.push(`${file}: ${object.kind}: ${problem}`);
      for (const mistake of findMistakes(object, made)) problems.push(`${file}: ${mistake}`);
    }
  }
  const made = MANIFESTS_HEAD + run('helm', ...TEMPLATE, '--no-hooks');
  if (process.argv.includes('--write')) {
    mkdirSync('deploy/kubernetes', { recursive: true });
    writeFileSync(MANIFESTS, made);
  }
  // The output of helm versions differs in blank lines.
  const isSame =
    existsSync(MANIFESTS) &&
    isDeepStrictEqual(
      documents(readFileSync(MANIFESTS, 'utf8'), MANIFESTS),
      documents(made, 'helm template'),
    );
  if (!isSame) problems.push(`${MANIFESTS} is stale: npm run check:deploy -- --write makes it`);
}

function checkCopies() {
  for (const [copy, source] of Object.entries(COPIES)) {
    const text = readFileSync(source, 'utf8');
    if (process.argv.includes('--write')) writeFileSync(copy, text);
    if (!existsSync(copy) || readFileSync(copy, 'utf8') !== text)
      problems.push(`${copy} is not ${source}: npm run check:deploy -- --write copies it`);
  }
}

const { appVersion } = documents(readFileSync(`${CHART}/Chart.yaml`, 'utf8'), 'Chart.yaml')[0];
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
if (appVersion !== version)
  problems.push(`appVersion of the chart is ${appVersion}, and not ${version}`);
/** Makes a rule of each query of the dashboard, with numbers in place of Grafana's variables. */
function dashboardRules() {
  const { panels } = JSON.parse(readFileSync('deploy/grafana/skein.json', 'utf8'));
  const queries = panels
    .flatMap(({ targets }) => targets ?? [])
    .map(({ expr }) => expr.replaceAll('$__rate_interval', '5m'));
  return stringify({
    groups: [
      { name: 'dashboard', rules: queries.map((expr, i) => ({ record: `query_${i}`, expr })) },
    ],
  });
}

/**
 * Checks docker-compose.yml without Docker: .env.example has its settings, and the services, volumes and users exist
 * that it names.
 */
function checkCompose() {
  const file = 'docker-compose.yml';
  const text = readFileSync(file, 'utf8');
  const settings = readFileSync('.env.example', 'utf8');
  const [{ services, volumes }] = documents(text, file);
  const wrong = [];
  for (const name of Object.keys(services.skein.environment))
    if (!settings.includes(`\n# ${name}=`)) wrong.push(`${name} is no setting`);
  for (const [name, { depends_on = {}, healthcheck, volumes: own = [] }] of Object.entries(
    services,
  )) {
    for (const other of Object.keys(depends_on))
      if (!services[other]?.healthcheck)
        wrong.push(`${name} waits for ${other}, which has no check`);
    for (const volume of own)
      if (!(volume.split(':')[0] in volumes)) wrong.push(`${name} has no volume ${volume}`);
    if (healthcheck && healthcheck.test[0] !== 'CMD')
      wrong.push(`the check of ${name} needs a shell`);
  }
  const { hostname, username } = new URL(services.skein.environment.DATABASE_URL);
  if (services[hostname]?.environment.POSTGRES_USER !== username)
    wrong.push(`DATABASE_URL leads to ${hostname} as ${username}, which is not there`);
  problems.push(...wrong.map((what) => `${file}: ${what}`));
}

checkValues();
checkCopies();
checkCompose();
for (const folder of ['deploy/kubernetes', 'deploy/prometheus'])
  for (const name of readdirSync(folder)) documents(readFileSync(join(folder, name), 'utf8'), name);

if (has('helm', 'version')) checkChart();
else unchecked.push('helm is not here, so no template was run');

if (has('promtool', '--version')) {
  run('promtool', 'check', 'rules', 'deploy/prometheus/alerts.yaml');
  run('promtool', 'test', 'rules', 'deploy/prometheus/alerts.test.yaml');
  await inTemporaryFolder((folder) => {
    writeFileSync(join(folder, 'rules.yaml'), dashboardRules());
    run('promtool', 'check', 'rules', join(folder, 'rules.yaml'));
  });
  run('promtool', 'check', 'config', '--syntax-only', 'deploy/prometheus/prometheus.yaml');
} else unchecked.push('promtool is not here, so no alert was tested');

// The programs that the unit names need not be installed.
if (has('systemd-analyze', '--version')) {
  const { stderr } = spawnSync('systemd-analyze', ['verify', 'deploy/systemd/skein.service'], {
    encoding: 'utf8',
  });
  const own = stderr
    .split('\n')
    .filter((line) => line.includes('skein.service') && !/is not executable/.test(line));
  problems.push(...own);
  run(
    'systemd-analyze',
    'security',
    '--offline=true',
    '--threshold=40',
    'deploy/systemd/skein.service',
  );
} else unchecked.push('systemd-analyze is not here, so the unit was not read');

for (const line of unchecked) console.log(`not checked: ${line}`);
for (const problem of problems) console.error(problem);
console.log(
  problems.length === 0
    ? 'deploy/ is right, as far as it was checked'
    : `${problems.length} problems`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
