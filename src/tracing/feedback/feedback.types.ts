import { assertNone, type Violation } from '../../platform/errors.js';
import { parseRef } from '../../platform/http/refs.js';
import { WIRE } from '../../platform/http/wire.js';
import type { FeedbackCreateDto } from './feedback.dto.js';
import { parseEmoji } from './emoji.js';

const REACTION = `${WIRE.feedback}.reaction.1`;
const NOTE = `${WIRE.feedback}.note.1`;
const ANNOTATION = `${WIRE.feedback}.annotation.`;
const RUNNABLE = `${WIRE.feedback}.runnable.`;

const MAX_NOTE = 1024;

type Payload = Record<string, unknown>;

/** Whether the payload of this type is a `value` that the schema of `annotation_ref` judges. */
export const isAnnotation = ({ feedback_type }: FeedbackCreateDto) =>
  feedback_type.startsWith(ANNOTATION);

/**
 * Holds feedback of a reserved type against the rules of that type, and answers what the server adds to the payload.
 * `path` is where the feedback stands in the request.
 * @throws ApiError `invalid_request`
 */
export function addedTo(body: FeedbackCreateDto, path: string): object {
  const { feedback_type: type } = body;
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
  } else if (type.startsWith(ANNOTATION)) {
    checkAnnotation(body, refuse);
  } else if (type.startsWith(RUNNABLE)) {
    checkRunnable(body, refuse);
  }
  assertNone(violations);
  return Object.fromEntries(Object.entries(added).filter(([name, value]) => own(name) !== value));
}

type Refuse = (field: string, message: string) => void;

const isNote = (note: unknown) =>
  typeof note === 'string' && note.length > 0 && Array.from(note).length <= MAX_NOTE;

function checkAnnotation(
  { project_id, feedback_type, annotation_ref, payload }: FeedbackCreateDto,
  refuse: Refuse,
) {
  const ref = annotation_ref ? parseRef(annotation_ref)! : null;
  if (!ref) refuse('annotation_ref', `is required with the type ${ANNOTATION}<name>`);
  else if (ref.name !== feedback_type.slice(ANNOTATION.length))
    refuse('annotation_ref', 'must be a ref to the object that feedback_type names');
  else if (ref.projectId !== project_id)
    refuse('annotation_ref', 'must be a ref to an object of the same project');
  if (!Object.hasOwn(payload, 'value')) refuse('payload.value', 'is required');
}

function checkRunnable({ runnable_ref, call_ref, payload }: FeedbackCreateDto, refuse: Refuse) {
  if (!runnable_ref) refuse('runnable_ref', `is required with the type ${RUNNABLE}<name>`);
  else if (parseRef(runnable_ref)!.kind === 'op' && !call_ref)
    refuse('call_ref', 'is required when runnable_ref is an op');
  if (!Object.hasOwn(payload, 'output')) refuse('payload.output', 'is required');
}
