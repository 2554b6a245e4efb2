import { isDateTime, isId } from '../../platform/http/dto.js';
import { invalidRequest } from '../../platform/errors.js';
import { isObject } from '../../platform/json/json-object.js';
import { memberTexts, objectText } from '../../platform/json/json-text.js';
import type { MergeableFeedback } from '../../tracing/feedback/feedback.service.js';
import { EventTimes, orderOf } from './event-times.js';
import { DATE_TIME_RULE, InvalidEvent } from './observation.js';

/** Members that become fields of the feedback. All others are its payload. */
const FIELDS = new Set(['id', 'name', 'traceId', 'observationId']);

/** Members that may name the item of a score. If several are set, the first counts. */
const SUBJECTS = ['observationId', 'traceId', 'sessionId', 'datasetRunId'] as const;

/**
 * A score as it was sent. It is stored as feedback on its item; the feedback type is the score's name. Members that are
 * omitted or null keep their stored value.
 */
export class Score {
  readonly body: Record<string, unknown>;
  private readonly order: number;

  /**
   * The age of the score is the `timestamp` of its event, else its own, else now.
   * @throws ApiError, InvalidEvent
   */
  constructor(
    private readonly projectId: string,
    private readonly text: string,
    timestamp?: string,
  ) {
    const body: unknown = JSON.parse(text);
    if (!isObject(body)) throw new InvalidEvent('a score must be an object');
    this.body = body;
    const own = body['timestamp'] ?? undefined;
    if (own !== undefined && !isDateTime(own))
      throw invalidRequest([{ path: 'timestamp', message: DATE_TIME_RULE }]);
    this.order = orderOf(timestamp ?? own ?? new Date().toISOString(), false);
  }

  /** The trace whose root the score is about, if it names no observation. */
  get traceId(): string | undefined {
    const { observationId, traceId } = this.body;
    return typeof traceId === 'string' && (observationId ?? '') === '' ? traceId : undefined;
  }

  /**
   * Returns the text of the feedback. A session is a thread, which refs call a conversation. A run of a dataset is the
   * call with its id. `root` is the root of the trace, if that is stored.
   * @throws ApiError `invalid_request`
   */
  feedback(id: unknown, root: string | undefined): string {
    const holds = (value: unknown) => (value ?? '') !== '';
    const subject =
      SUBJECTS.find((name) => holds(this.body[name])) ??
      SUBJECTS.find((name) => (this.body[name] ?? null) !== null);
    const named = subject && this.body[subject];
    if (!isId(named))
      throw invalidRequest([
        {
          path: subject ?? 'traceId',
          message: subject
            ? 'must be a non-empty string of at most 256 characters without control characters'
            : 'must name the trace of the score, unless observationId, sessionId or datasetRunId is there',
        },
      ]);
    const item =
      subject === 'sessionId'
        ? `agent_conversation/${encodeURIComponent(named)}`
        : `call/${root ?? named}`;
    return feedbackText(
      {
        project_id: this.projectId,
        svc_ref: `svc:///${this.projectId}/${item}`,
        feedback_type: this.body['name'],
        id,
        feedback_id: id,
      },
      this.payload,
    );
  }

  /**
   * Merges a score into stored feedback: each member keeps the value of its latest event, and the item counts as one
   * member. Returns null when nothing changes.
   */
  merged(text: string, stored: MergeableFeedback | undefined) {
    const times = new EventTimes(stored?.event_times);
    const sent = JSON.parse(text) as Record<string, unknown>;
    const isTaken = (name: string) => times.takes(name, this.order);
    const type = isTaken('name') ? sent['feedback_type'] : stored!.feedback_type;
    const ref = isTaken('subject') ? sent.svc_ref : stored!.ref;
    const payload = memberTexts(stored?.payload ?? '{}');
    for (const [name, value] of this.payload) if (isTaken(name)) payload.set(name, value);
    const eventTimes = times.text;
    const now = [type, ref, objectText(payload), eventTimes];
    const before = stored && [stored.feedback_type, stored.ref, stored.payload, stored.event_times];
    if (before?.every((one, i) => one === now[i])) return null;
    const fields = Object.fromEntries(Object.entries(sent).filter(([name]) => name !== 'payload'));
    const merged = { ...fields, svc_ref: ref, feedback_type: type };
    return { text: feedbackText(merged, payload), eventTimes };
  }

  private get payload(): Map<string, string> {
    return new Map(
      [...memberTexts(this.text)].filter(([name, value]) => !FIELDS.has(name) && value !== 'null'),
    );
  }
}

const feedbackText = (fields: object, payload: Map<string, string>): string =>
  `${JSON.stringify(fields).slice(0, -1)},"payload":${objectText(payload)}}`;
