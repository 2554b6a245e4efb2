import type { FieldSchema, AnnotationSpec } from '../api/annotation.ts';

export interface Question extends AnnotationSpec {
  kind: 'choice' | 'number' | 'text' | 'json';
  /** The choices as JSON texts; empty for other kinds. */
  choices: readonly string[];
}

/**
 * Answers keyed by the ref of the question: the chosen JSON text or the typed text. Absent or empty when unanswered.
 */
export type Answers = Readonly<Record<string, string>>;

/** An integer range of at most this many values is a scale with a key for each value. */
const MOST_STEPS = 10;

export function toQuestion(spec: AnnotationSpec): Question {
  const choices = choicesIn(spec.schema);
  if (choices)
    return { ...spec, kind: 'choice', choices: choices.map((one) => JSON.stringify(one)) };
  const { type } = spec.schema;
  const kinds: Record<string, Question['kind']> = {
    number: 'number',
    integer: 'number',
    string: 'text',
  };
  return { ...spec, kind: kinds[String(type)] ?? 'json', choices: [] };
}

function choicesIn({ type, enum: words, minimum, maximum }: FieldSchema): unknown[] | undefined {
  if (Array.isArray(words)) return words;
  if (type === 'boolean') return [true, false];
  if (type !== 'integer' || minimum === undefined || maximum === undefined) return undefined;
  const steps = maximum - minimum + 1;
  const isScale = Number.isInteger(minimum) && steps >= 2 && steps <= MOST_STEPS;
  return isScale ? Array.from({ length: steps }, (_, n) => minimum + n) : undefined;
}

/** The key of a choice. Scale: the digit, and `0` for 10. Enum: the position, counted from 1. Boolean: `y` and `n`. */
export function choiceKey({ choices, schema }: Question, n: number): string | undefined {
  const choice = choices[n]!;
  if (schema.type === 'boolean' && !schema.enum) return choice === 'true' ? 'y' : 'n';
  if (!schema.enum && /^\d$/.test(choice)) return choice;
  if (!schema.enum && choice === '10' && !choices.includes('0')) return '0';
  return schema.enum && n < 9 ? String(n + 1) : undefined;
}

/** Finds the question and the answer of a key: the current question first, then those after it. */
export function answerByKey(
  questions: readonly Question[],
  current: number,
  key: string,
): { at: number; answer: string } | undefined {
  for (let n = 0; n < questions.length; n++) {
    const at = (current + n) % questions.length;
    const question = questions[at]!;
    const choice = question.choices.findIndex((_, i) => choiceKey(question, i) === key);
    if (choice >= 0) return { at, answer: question.choices[choice]! };
  }
  return undefined;
}

/** The next question without an answer; `from` when all have one. */
export function nextUnanswered(
  questions: readonly Question[],
  answers: Answers,
  from: number,
): number {
  for (let n = 1; n <= questions.length; n++) {
    const at = (from + n) % questions.length;
    if (!answers[questions[at]!.ref]) return at;
  }
  return from;
}

/**
 * The value to send for an answer.
 * @throws SyntaxError when a choice or a JSON answer is no JSON
 */
export function answerValue({ kind }: Question, answer: string): unknown {
  if (kind === 'text') return answer;
  return kind === 'number' ? Number(answer) : JSON.parse(answer);
}

export const valueAnswer = ({ kind }: Question, value: unknown): string =>
  kind === 'text' && typeof value === 'string' ? value : JSON.stringify(value);
