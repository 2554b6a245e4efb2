import { copyFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import {
  expectStatistics,
  runClient,
  startWeaveServer,
  type WeaveServer,
} from '../support/client.js';
import { COSTS, sumCosts } from '../support/provider-costs.js';
import { type Run, watched } from '../support/server.js';
import { until } from '../support/until.js';

/** Set by `npm run test:clients`, which creates the environments. Without them these tests are skipped. */
const venv = process.env['SKEIN_OTLP_VENV'];
const agentsVenv = process.env['SKEIN_AGENTS_VENV'];
const clientsVenv = process.env['SKEIN_CLIENTS_VENV'];
const packages = process.env['SKEIN_OTLP_NPM'];
const PROGRAMS = 'test/fixtures/otlp/programs';
// the packages load slowly, and first look for servers of their makers
const PATIENCE_MS = 300_000;

let server: WeaveServer;
let provider: Run & { url: string };
beforeAll(async () => {
  if (!venv && !agentsVenv && !clientsVenv && !packages) return;
  const run = watched(process.execPath, ['scripts/fake-provider.mjs'], {});
  const urlOf = () => /listens on (\S+)/.exec(run.output())?.[1];
  await until(() => urlOf() !== undefined || run.process.exitCode !== null);
  provider = { ...run, url: urlOf()! };
  server = await startWeaveServer({ OTLP_GRPC_PORT: '0' });
});
afterAll(async () => {
  provider?.process.kill();
  await server?.close();
});

/** The environment of a program: a fake model provider, and the service instead of the recorder. */
function settings(project: string): Record<string, string> {
  const grpc = /gRPC is accepted on (http:\/\/[^"\s]+)/.exec(server.output())![1]!;
  return {
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: `${provider.url}/v1`,
    ANTHROPIC_API_KEY: 'none',
    ANTHROPIC_BASE_URL: provider.url,
    GOOGLE_API_KEY: 'none',
    GOOGLE_GEMINI_BASE_URL: provider.url,
    RECORDER_URL: server.url,
    RECORDER_GRPC: grpc,
    RECORDER_KEY: server.key,
    PROJECT: project,
    OTEL_EXPORTER_OTLP_ENDPOINT: server.url,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${server.url}/v1/traces`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${server.key},project_id=${encodeURIComponent(project)}`,
  };
}

async function expectCosts(
  name: string,
  environment: string,
  run: (env: Record<string, string>) => Promise<unknown>,
) {
  const project = `acme/${name}`;
  await run(settings(project));
  const calls = await server.callsOf(project);
  await expectStatistics(server, project, { dollars: COSTS[name]!, environment });
  // several instrumentations may report one request: the calls then add up to more than the statistics
  expect(sumCosts(calls, 'weave')).toBeGreaterThan(0.999999 * COSTS[name]!);
  expect(calls.filter(({ exception }) => exception)).toEqual([]);
}

const TITLE = 'sends spans that cost what the provider asks';

describe.each([
  ['PyPI arize-phoenix-otel (gRPC)', 'phoenix-otel-grpc'],
  ['PyPI langsmith', 'langsmith-langchain'],
  ['PyPI litellm', 'litellm-otel'],
  ['PyPI logfire', 'logfire-agent'],
  ['PyPI mlflow-skinny', 'mlflow'],
  ['PyPI openai-agents (by logfire)', 'logfire-openai-agents'],
  ['PyPI openinference-instrumentation-openai', 'openinference-openai'],
  ['PyPI opentelemetry-instrumentation-openai', 'openllmetry-openai'],
  ['PyPI pydantic-ai-slim', 'pydantic-ai'],
])('%s', (_, name) => {
  (venv ? it : it.skip)(
    TITLE,
    () =>
      expectCosts(name, venv!, (env) =>
        runClient(join(venv!, 'bin/python'), [`${PROGRAMS}/${name}.py`], env),
      ),
    PATIENCE_MS,
  );
});

describe.each([
  ['PyPI ag2', 'ag2-agent'],
  ['PyPI google-adk', 'google-adk'],
  ['PyPI langchain-anthropic (by OpenInference and OpenLLMetry)', 'langchain-anthropic'],
  ['PyPI langfuse (beside OpenInference)', 'langfuse-openinference'],
  ['PyPI langgraph (two agents)', 'two-agents'],
  ['PyPI openai-agents (by OpenInference)', 'openai-agents'],
  ['PyPI openinference-instrumentation-openai (remote parent)', 'remote-parent'],
  ['PyPI smolagents', 'smolagents-tools'],
])('%s', (_, name) => {
  (agentsVenv ? it : it.skip)(
    TITLE,
    () =>
      expectCosts(name, agentsVenv!, (env) =>
        runClient(join(agentsVenv!, 'bin/python'), [`${PROGRAMS}/${name}.py`], env),
      ),
    PATIENCE_MS,
  );
});

describe('PyPI weave (beside OpenAI)', () => {
  (clientsVenv ? it : it.skip)(
    'records calls that cost what the provider asks',
    () =>
      expectCosts('weave-python-openai', clientsVenv!, (env) =>
        runClient(
          join(clientsVenv!, 'bin/python'),
          ['test/fixtures/usage/programs/weave-python-openai.py'],
          { ...env, ...server.settings },
        ),
      ),
    PATIENCE_MS,
  );
});

describe.each([
  ['npm ai', 'vercel-ai-7', 'vercel-ai-7.mjs'],
  ['npm @mastra/core', 'mastra', 'mastra.mjs'],
  ['npm @anthropic-ai/claude-code', 'claude-code', 'claude-code.sh'],
  ['npm @anthropic-ai/claude-code (logs alone)', 'claude-code', 'claude-code-logs.sh'],
  ['npm @google/gemini-cli', 'gemini-cli', 'gemini-cli.sh'],
  ['npm @openai/codex', 'codex', 'codex.sh'],
])('%s', (_, packagesOf, file) => {
  (packages ? it : it.skip)(
    TITLE,
    () =>
      expectCosts(file.replace(/\.\w+$/, ''), packages!, (env) => {
        const folder = join(packages!, packagesOf);
        const copy = join(folder, file); // Node finds its packages from this folder
        copyFileSync(`${PROGRAMS}/${file}`, copy);
        const bin = join(folder, 'node_modules/.bin');
        return file.endsWith('.sh')
          ? runClient('sh', [copy], { ...env, PATH: `${bin}${delimiter}${process.env['PATH']}` })
          : runClient(process.execPath, [copy], env);
      }),
    PATIENCE_MS,
  );
});
