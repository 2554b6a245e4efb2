export interface SnippetTarget {
  url: string;
  key: string;
  project: string;
  /** `weave` when the weave SDKs work unchanged. */
  scheme: string;
}

export interface Snippet {
  value: 'python' | 'typescript' | 'opentelemetry' | 'curl';
  label: string;
  /** Packages or programs that the snippet needs. */
  needs: string;
  text: string;
}

export const snippets = (target: SnippetTarget): Snippet[] => [
  python(target),
  typescript(target),
  openTelemetry(target),
  curl(target),
];

const python = (target: SnippetTarget): Snippet => ({
  value: 'python',
  label: 'Python',
  ...(target.scheme === 'weave' ? weavePython(target) : plainPython(target)),
});

const weavePython = ({ url, key, project }: SnippetTarget) => ({
  needs: 'pip install weave',
  text: `import os
os.environ["WF_TRACE_SERVER_URL"] = os.environ["WANDB_BASE_URL"] = "${url}"
os.environ["WANDB_API_KEY"] = "${key}"

import weave

client = weave.init("${project}")

@weave.op
def answer(question: str) -> str:
    return "Calls that belong together."

print(answer("What is a thread?"))
client.flush()
`,
});

const plainPython = ({ url, key, project }: SnippetTarget) => ({
  needs: 'Python 3.9, standard library only',
  text: `import base64, contextlib, json, urllib.request
from datetime import datetime, timezone

URL, KEY, PROJECT = "${url}", "${key}", "${project}"

def send(path, body):
    auth = base64.b64encode(b"me:" + KEY.encode()).decode()
    headers = {"Content-Type": "application/json", "Authorization": "Basic " + auth}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))

now = lambda: datetime.now(timezone.utc).isoformat()

@contextlib.contextmanager
def traced(op_name, **inputs):
    call = send("/call/start", {"start": {"project_id": PROJECT, "op_name": op_name,
                                          "started_at": now(), "inputs": inputs}})
    end = {"project_id": PROJECT, "id": call["id"]}
    try:
        yield end
    except Exception as error:
        end["exception"] = repr(error)
        raise
    finally:
        send("/call/end", {"end": {**end, "ended_at": now()}})

with traced("answer", question="What is a thread?") as call:
    call["output"] = "Calls that belong together."
`,
});

const typescript = (target: SnippetTarget): Snippet => ({
  value: 'typescript',
  label: 'TypeScript',
  ...(target.scheme === 'weave' ? weaveTypescript(target) : plainTypescript(target)),
});

const weaveTypescript = ({ url, key, project }: SnippetTarget) => ({
  needs: 'npm install weave',
  text: `process.env.WF_TRACE_SERVER_URL = process.env.WANDB_BASE_URL = '${url}';
process.env.WANDB_API_KEY = '${key}';
const weave = await import('weave');

await weave.init('${project}');
const answer = weave.op(async function answer(question) {
  return 'Calls that belong together.';
});
console.log(await answer('What is a thread?'));
`,
});

const plainTypescript = ({ url, key, project }: SnippetTarget) => ({
  needs: 'Node 18 or later, no packages; save as an ES module (.mts, .mjs)',
  text: `const [url, key, project_id] = ['${url}', '${key}', '${project}'];

const send = async (path, body) => {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Basic ' + btoa('me:' + key) },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
};

const now = () => new Date().toISOString();

async function traced(op_name, inputs, run) {
  const { id } = await send('/call/start', { start: { project_id, op_name, started_at: now(), inputs } });
  const end = { project_id, id };
  try {
    return (end.output = await run());
  } catch (error) {
    end.exception = String(error);
    throw error;
  } finally {
    await send('/call/end', { end: { ...end, ended_at: now() } });
  }
}

await traced('answer', { question: 'What is a thread?' }, async () => 'Calls that belong together.');
`,
});

const openTelemetry = ({ url, key, project }: SnippetTarget): Snippet => ({
  value: 'opentelemetry',
  label: 'OpenTelemetry',
  needs:
    'pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http; any other exporter of OTLP/HTTP takes the same three variables',
  text: `export OTEL_EXPORTER_OTLP_ENDPOINT=${url}/otel
export OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20${key},project_id=${encodeURIComponent(project)}"
export OTEL_EXPORTER_OTLP_COMPRESSION=gzip

python3 - <<'END'
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("hello").start_as_current_span("answer") as span:
    span.set_attribute("input.value", "What is a thread?")
    span.set_attribute("output.value", "Calls that belong together.")
END
`,
});

const curl = ({ url, key, project }: SnippetTarget): Snippet => ({
  value: 'curl',
  label: 'curl',
  needs: 'a POSIX shell',
  text: `NOW=$(date -u +%Y-%m-%dT%H:%M:%SZ)
ID=hello-$(date +%s)

curl -s -u 'me:${key}' -H 'Content-Type: application/json' ${url}/call/start \\
  -d '{"start":{"project_id":"${project}","id":"'$ID'","op_name":"answer","started_at":"'$NOW'","inputs":{"question":"What is a thread?"}}}'

curl -s -u 'me:${key}' -H 'Content-Type: application/json' ${url}/call/end \\
  -d '{"end":{"project_id":"${project}","id":"'$ID'","ended_at":"'$NOW'","output":{"answer":"Calls that belong together."}}}'
`,
});
