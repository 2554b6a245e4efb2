import { v7 as uuidv7 } from 'uuid';
import type { Violation } from '../../platform/errors.js';
import { fits } from '../../platform/http/dto.js';
import { isObject } from '../../platform/json/json-object.js';
import { storable } from '../../platform/query/columns.js';
import type { NewJobEvent } from './queue.query.js';
import { MAX_TEXT, type TrainerEventDto } from './trainer.dto.js';

const MAX_NAME = 256;
const LEVELS = ['info', 'warning'];

type Data = Record<string, unknown>;

const isTextOf = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value.length > 0 && fits(value, max);

const VIOLATIONS: Record<TrainerEventDto['type'], (data: Data, path: string) => Violation[]> = {
  training_started: ({ num_sequences }, path) =>
    Number.isSafeInteger(num_sequences) && Number(num_sequences) >= 0
      ? []
      : [{ path: `${path}.num_sequences`, message: 'must be a whole number from 0' }],
  gradient_step: numbersViolations,
  note: ({ text, level }, path) => [
    ...(isTextOf(text, MAX_TEXT)
      ? []
      : [{ path: `${path}.text`, message: `must be a string of 1 to ${MAX_TEXT} characters` }]),
    ...(LEVELS.includes(level as string)
      ? []
      : [{ path: `${path}.level`, message: `must be ${LEVELS.join(' or ')}` }]),
  ],
  evaluation: ({ name, metrics }, path) => [
    ...(isTextOf(name, MAX_NAME)
      ? []
      : [{ path: `${path}.name`, message: `must be a string of 1 to ${MAX_NAME} characters` }]),
    ...(isObject(metrics)
      ? numbersViolations(metrics, `${path}.metrics`)
      : [{ path: `${path}.metrics`, message: 'must be an object' }]),
  ],
};

export const eventViolations = ({ type, data }: TrainerEventDto, path: string): Violation[] =>
  VIOLATIONS[type](data, path);

export function numbersViolations(values: Data, path: string): Violation[] {
  const name = Object.keys(values).find((key) => !Number.isFinite(values[key]));
  return name === undefined
    ? []
    : [{ path: `${path}.${name}`, message: 'must be a finite number' }];
}

export const storableKeys = (values: Data) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [storable(name), value]));

/** Returns the data to store. For a note and an evaluation, only the checked members are stored. */
function storedData(type: TrainerEventDto['type'], data: Data): Data {
  if (type === 'note') return { level: data['level'], text: storable(data['text'] as string) };
  if (type !== 'evaluation') return data;
  return { name: storable(data['name'] as string), metrics: data['metrics'] };
}

export function newEvents(
  events: TrainerEventDto[],
  known: { seq: number | null; type: string }[],
): NewJobEvent[] {
  const seqs = new Set(known.map(({ seq }) => seq));
  let hasStarted = known.some(({ type }) => type === 'training_started');
  const fresh: NewJobEvent[] = [];
  for (const { seq, type, data } of events) {
    const isKnown = seqs.has(seq) || (type === 'training_started' && hasStarted);
    seqs.add(seq);
    if (isKnown) continue;
    hasStarted ||= type === 'training_started';
    const text = JSON.stringify(storedData(type, data));
    fresh.push({ id: uuidv7(), type, data: text, trainerSeq: seq });
  }
  return fresh;
}
