"""Evaluations of a user of weave for Python. The last line of output is JSON with the values that the client read."""

import asyncio
import json

import weave
from weave.flow import leaderboard
from weave.trace_server_bindings.remote_http_trace_server import RemoteHTTPTraceServer

PROJECT = "acme/evaluations"
client = weave.init(PROJECT)
rows = [{"question": f"{n} + {n}", "expected": 2 * n} for n in range(8)]
dataset = weave.Dataset(name="sums", rows=rows)
weave.publish(dataset)


class Adder(weave.Model):
    off: int

    @weave.op
    def predict(self, question: str) -> dict:
        a = int(question.split(" ")[0])
        if a == 7:
            raise ValueError("too large")
        return {"sum": 2 * a + (self.off if a % 3 == 0 else 0)}


@weave.op
def correct(expected: int, output: dict) -> bool:
    return output["sum"] == expected


class Distance(weave.Scorer):
    @weave.op
    def score(self, expected: int, output: dict) -> dict:
        return {"far": abs(output["sum"] - expected), "near": {"is": abs(output["sum"] - expected) < 2}, "word": "x"}


evaluation = weave.Evaluation(name="exam", dataset=dataset, scorers=[correct, Distance()], trials=2)
seen = {"evaluations": []}
for off in (1, 3):
    summary, call = asyncio.run(evaluation.evaluate.call(evaluation, Adder(off=off)))
    seen["evaluations"].append({"id": call.id, "summary": summary})

logger = weave.EvaluationLogger(name="logged", model="hand", dataset=rows)
for n, row in enumerate(rows):
    prediction = logger.log_prediction(inputs=row, output=n)
    prediction.log_score(scorer="even", score=n % 2 == 0)
    prediction.log_score(scorer="size", score=float(n))
    prediction.finish()
logger.log_summary({"mine": 1})
client.flush()
seen["logged"] = {"id": logger._evaluate_call.id, "summary": client.get_call(logger._evaluate_call.id).output}

columns = [("correct", "true_fraction"), ("Distance", "far.mean")]
spec = leaderboard.Leaderboard(
    name="board",
    columns=[
        leaderboard.LeaderboardColumn(
            evaluation_object_ref=weave.publish(evaluation).uri, scorer_name=scorer, summary_metric_path=path
        )
        for scorer, path in columns
    ],
)
weave.publish(spec)
seen["leaderboard"] = [
    [score.value for column in result.column_scores for score in column.scores]
    for result in leaderboard.get_leaderboard_results(spec, client)
]

# operations of /v2, called with the client's own methods
server = client.server
while not isinstance(server, RemoteHTTPTraceServer):
    server = server._next_trace_server
plain = {"project_id": PROJECT}
model = server.model_create({**plain, "name": "Hand", "source_code": "class Hand: ..."}).model_ref
scorer = server.scorer_create({**plain, "name": "even", "op_source_code": "def even(): ..."}).scorer
exam = server.evaluation_create({**plain, "name": "byhand", "dataset": dataset.ref.uri, "scorers": [scorer]}).evaluation_ref
run = server.evaluation_run_create({**plain, "evaluation": exam, "model": model}).evaluation_run_id
for n in range(8):
    said = {**plain, "evaluation_run_id": run, "model": model, "inputs": rows[n], "output": n}
    prediction = server.prediction_create(said).prediction_id
    server.score_create({**plain, "prediction_id": prediction, "scorer": scorer, "value": n % 2 == 0})
    server.prediction_finish({**plain, "prediction_id": prediction})
server.evaluation_run_finish({**plain, "evaluation_run_id": run})
seen["run"] = {
    "id": run,
    "status": server.evaluation_run_read({**plain, "evaluation_run_id": run}).status,
    "listed": [one.evaluation_run_id for one in server.evaluation_run_list({**plain, "filter": {"evaluations": [exam]}})],
    "predictions": len(list(server.prediction_list({**plain, "evaluation_run_id": run}))),
    "scores": [one.value for one in server.score_list({**plain, "evaluation_run_id": run})],
    "models": [one.name for one in server.model_list(plain)],
}
page = server.eval_results_query({**plain, "evaluation_call_ids": [run], "include_summary": True})
seen["page"] = {"rows": page.total_rows, "pass_rate": page.summary.evaluations[0].scorer_stats[0].pass_rate}
seen["status"] = server.evaluation_status({**plain, "call_id": run}).status.code
client.flush()
print(json.dumps(seen))
