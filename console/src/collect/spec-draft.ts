import { type FieldSchema, SPEC_CLASS } from '../api/annotation.ts';

export interface SpecDraft {
  name: string;
  kind: AnswerKind;
  /** Minimum and maximum of a number. */
  from: string;
  to: string;
  isWhole: boolean;
  /** One choice per line. */
  choices: string;
}

export const KINDS = {
  boolean: 'Yes or no',
  number: 'A number',
  choice: 'One of several texts',
  text: 'Free text',
} as const;
export type AnswerKind = keyof typeof KINDS;

export const NEW_SPEC: SpecDraft = {
  name: '',
  kind: 'boolean',
  from: '1',
  to: '5',
  isWhole: true,
  choices: '',
};

/** The name of the object: the typed name, reduced to characters that names may have. */
export const specId = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/[^\w-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 100);

const choicesIn = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
];

export function specFault({ name, kind, from, to, choices }: SpecDraft): string | undefined {
  if (specId(name) === '') return 'The name of the question needs a letter or a digit.';
  if (kind === 'choice' && choicesIn(choices).length < 2) return 'Write two texts or more.';
  if (kind !== 'number') return undefined;
  const [low, high] = [from, to].map((text) => (text.trim() === '' ? undefined : Number(text)));
  if (Number.isNaN(low) || Number.isNaN(high)) return 'The bounds must be numbers.';
  if (low !== undefined && high !== undefined && low >= high)
    return 'The first bound must be below the second.';
  return undefined;
}

function fieldSchema({ kind, from, to, isWhole, choices }: SpecDraft): FieldSchema {
  if (kind === 'boolean') return { type: 'boolean' };
  if (kind === 'choice') return { type: 'string', enum: choicesIn(choices) };
  if (kind === 'text') return { type: 'string' };
  return {
    type: isWhole ? 'integer' : 'number',
    ...(from.trim() !== '' && { minimum: Number(from) }),
    ...(to.trim() !== '' && { maximum: Number(to) }),
  };
}

/** The value of the object, in the form that SDKs publish. */
export const specValue = (draft: SpecDraft) => ({
  _type: SPEC_CLASS,
  _class_name: SPEC_CLASS,
  _bases: ['Object', 'BaseModel'],
  name: draft.name.trim(),
  description: null,
  field_schema: fieldSchema(draft),
});
