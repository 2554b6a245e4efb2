// A thread that sends requests to the service all the time and collects the answers until the next report. A request
// without an answer counts with its waiting time so far.
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const { url, authorization, restMs } = workerData;
const PATIENCE_MS = 30_000;

class Question {
  times = [];
  statuses = {};
  asked = null;

  /** `asks` are pairs of a path and a body, which are asked in turn. */
  constructor(everyMs, ...asks) {
    this.asks = asks;
    this.agent = new http.Agent({ keepAlive: true });
    void this.repeat(everyMs);
  }

  async repeat(everyMs) {
    for (let i = 0; ; i++) {
      this.asked = performance.now();
      const status = await this.ask(...this.asks[i % this.asks.length]);
      this.times.push(performance.now() - this.asked);
      this.statuses[status] = (this.statuses[status] ?? 0) + 1;
      this.asked = null;
      await pause(everyMs);
    }
  }

  ask(path, body) {
    const headers = body && { 'content-type': 'application/json', authorization };
    return new Promise((resolve) => {
      const { agent } = this;
      const request = http.request(
        url + path,
        { method: body ? 'POST' : 'GET', agent, headers, timeout: PATIENCE_MS },
        (answer) =>
          answer
            .resume()
            .on('end', () => resolve(answer.statusCode))
            .on('error', () => resolve('cut')),
      );
      request.on('timeout', () => request.destroy());
      // the service may close an idle connection, so this is no failure
      request.on('error', () => resolve(request.reusedSocket ? 'closed' : 'cut'));
      request.end(body);
    });
  }

  report() {
    const times = [...this.times, ...(this.asked ? [performance.now() - this.asked] : [])];
    times.sort((a, b) => a - b);
    const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
    const { statuses } = this;
    this.times = [];
    this.statuses = {};
    return { worst: at(1), p50: at(0.5), p99: at(0.99), count: times.length, statuses };
  }
}

const health = new Question(restMs, ['/health']);
const start = new Question(
  4 * restMs,
  [
    '/call/start',
    '{"start":{"project_id":"other/project","id":"victim","trace_id":"t","op_name":"victim","started_at":"2026-01-31T12:00:00Z"}}',
  ],
  ['/call/read', '{"project_id":"other/project","id":"victim"}'],
);
parentPort.on('message', () =>
  parentPort.postMessage({ health: health.report(), start: start.report() }),
);
