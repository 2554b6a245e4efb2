import { assertNone, type Violation } from '../../platform/errors.js';
import { parseRef } from '../../platform/http/refs.js';
import type { FeedbackCreateDto } from './feedback.dto.js';
import { neutralType, ownType } from '../feedback-names.query.js';
import { parseEmoji } from './emoji.js';

/* The rules hold for both spellings of a type; types of weave are compared by their neutral names. */
const REACTION = 'svc.reaction.1';
const NOTE = 'svc.note.1';
const ANNOTATION = 'svc.annotation.';
const RUNNABLE = 'svc.runnable.';
const AGENT_MONITOR = 'svc.agent_monitor';
const AGENT_USER = 'svc.agent_user_feedback';

const MAX_NOTE = 1024;

type Payload = Record<string, unknown>;

/** Returns true when the payload has a `value` that the schema of `annotation_ref` validates. */
export const isAnnotation = ({ feedback_type }: FeedbackCreateDto) =>
  neutralType(feedback_type).startsWith(ANNOTATION);

/**
 * Validates feedback of a reserved type, and returns the members that the server adds to the payload. `path` is the
 * position of the feedback in the request.
 * @throws ApiError `invalid_request`
 */
export function serverMembers(body: FeedbackCreateDto, path: string): object {
  const type = neutralType(body.feedback_type);
  const payload = body.payload as Payload;
  const own = (name: string) => (Object.hasOwn(payload, name) ? payload[name] : undefined);
  const violations: Violation[] = [];
  const refuse = (field: string, message: string) =>
    violations.push({ path: path + field, message });

  let added: object = {};
  if (type === REACTION) {
    const emoji = own('emoji');
    const known = typeof emoji === 'string' ? parseEmoji(emoji) : null;
    if (known) added = known;
    else refuse('payload.emoji', 'must be exactly one emoji');
  } else if (type === NOTE) {
    if (!isNote(own('note')))
      refuse('payload.note', `must be a string of 1 to ${MAX_NOTE} characters`);
  } else checkRefs(type, body, refuse);
  assertNone(violations);
  return Object.fromEntries(Object.entries(added).filter(([name, value]) => own(name) !== value));
}

type ReportViolation = (field: string, message: string) => void;

function checkRefs(type: string, body: FeedbackCreateDto, refuse: ReportViolation): void {
  if (type.startsWith(ANNOTATION)) checkAnnotation(body, refuse);
  else if (type.startsWith(RUNNABLE)) checkRunnable(body, refuse);
  else if (type === AGENT_MONITOR) checkMonitor(body, refuse);
  else if (type === AGENT_USER && !body.scorer_tags?.length)
    refuse('scorer_tags', `is required with the type ${ownType(AGENT_USER)}`);
}

function checkMonitor(body: FeedbackCreateDto, refuse: ReportViolation): void {
  for (const ref of ['runnable_ref', 'call_ref', 'trigger_ref'] as const)
    if (!body[ref]) refuse(ref, `is required with the type ${ownType(AGENT_MONITOR)}`);
}

const isNote = (note: unknown) =>
  typeof note === 'string' && note.length > 0 && Array.from(note).length <= MAX_NOTE;

function checkAnnotation(
  { project_id, feedback_type, annotation_ref, payload }: FeedbackCreateDto,
  refuse: ReportViolation,
) {
  const ref = annotation_ref ? parseRef(annotation_ref)! : null;
  if (!ref) refuse('annotation_ref', `is required with the type ${ownType(ANNOTATION)}<name>`);
  else if (ref.name !== neutralType(feedback_type).slice(ANNOTATION.length))
    refuse('annotation_ref', 'must be a ref to the object that feedback_type names');
  else if (ref.projectId !== project_id)
    refuse('annotation_ref', 'must be a ref to an object of the same project');
  if (!Object.hasOwn(payload, 'value')) refuse('payload.value', 'is required');
}

function checkRunnable(
  { runnable_ref, call_ref, payload }: FeedbackCreateDto,
  refuse: ReportViolation,
) {
  if (!runnable_ref) refuse('runnable_ref', `is required with the type ${ownType(RUNNABLE)}<name>`);
  else if (parseRef(runnable_ref)!.kind === 'op' && !call_ref)
    refuse('call_ref', 'is required when runnable_ref is an op');
  if (!Object.hasOwn(payload, 'output')) refuse('payload.output', 'is required');
}
