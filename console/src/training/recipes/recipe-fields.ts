/** The input and the JSON form of a field's value. */
export type FieldKind = 'text' | 'number' | 'list' | 'json' | 'choice';

export interface FieldSpec {
  /** The path of the value in the recipe, as the service names it in its errors. */
  path: string;
  label: string;
  kind: FieldKind;
  /** The default that applies while the field is empty. */
  empty?: string;
  hint?: string;
  options?: readonly string[];
  suggest?: 'feedback' | 'models';
}

const PURPOSES = ['rl', 'sft', 'dpo', 'kto'];
const UNITS = ['trace', 'turn', 'thread', 'call'];
const FLAGS = ['true', 'false'];

/** The members that most recipes have, in the order in which people decide them. Other members are edited as JSON. */
export const SECTIONS: readonly { title: string; fields: readonly FieldSpec[] }[] = [
  {
    title: 'What it is for',
    fields: [
      {
        path: 'purpose',
        label: 'Purpose',
        kind: 'choice',
        empty: 'rl',
        options: PURPOSES,
        hint: 'It sets defaults: sft and kto need no groups, and only rl needs logprobs.',
      },
    ],
  },
  {
    title: 'Which runs',
    fields: [
      { path: 'select.unit', label: 'Unit', kind: 'choice', empty: 'trace', options: UNITS },
      { path: 'select.limit', label: 'The newest units', kind: 'number', empty: '1000' },
      {
        path: 'select.settle_s',
        label: 'Quiet for seconds',
        kind: 'number',
        empty: '600',
        hint: 'A unit waits until nothing has happened in it for so long.',
      },
      {
        path: 'select.since',
        label: 'Started from',
        kind: 'text',
        empty: '2026-01-31T00:00:00Z',
      },
      {
        path: 'select.until',
        label: 'Started before',
        kind: 'text',
        empty: '2026-02-28T00:00:00Z',
      },
      {
        path: 'select.filter',
        label: 'Filter of the roots',
        kind: 'json',
        empty: '{ "op_names": [] }',
        hint: 'As in /calls/stream_query.',
      },
    ],
  },
  {
    title: 'What is trained in them',
    fields: [
      {
        path: 'llm.policy',
        label: 'Policy',
        kind: 'text',
        empty: 'any model',
        suggest: 'models',
        hint: 'Only what this model chose is trained. name:stepN counts as name.',
      },
      {
        path: 'llm.op_names',
        label: 'Ops of model calls',
        kind: 'list',
        empty: 'any',
        hint: 'One a line.',
      },
      { path: 'build.max_tokens', label: 'Most tokens', kind: 'number', empty: '32768' },
      {
        path: 'build.token_exact',
        label: 'Recorded tokens only',
        kind: 'choice',
        empty: 'false',
        options: FLAGS,
      },
    ],
  },
  {
    title: 'Reward',
    fields: [
      {
        path: 'reward.missing',
        label: 'Without feedback',
        kind: 'number',
        empty: 'skip',
        hint: 'A number, or skip: missing is not 0.',
      },
      { path: 'reward.exception', label: 'Failed', kind: 'number', empty: 'skip' },
      {
        path: 'reward.threshold',
        label: 'Good from',
        kind: 'number',
        empty: 'not set',
        hint: 'sft takes only what is good, kto labels it true.',
      },
      {
        path: 'reward.credit',
        label: 'A score rewards',
        kind: 'choice',
        empty: 'unit',
        options: ['unit', 'turn'],
      },
      {
        path: 'reward.inherit',
        label: 'Calls have the score of',
        kind: 'choice',
        empty: 'themselves',
        options: ['turn', 'thread'],
        hint: 'Where the unit is call.',
      },
    ],
  },
  {
    title: 'Groups',
    fields: [
      {
        path: 'group.by',
        label: 'Compared by',
        kind: 'list',
        empty: 'attributes.task_id\nprompt',
        hint: 'Paths into the root call, or prompt, one a line. The first that has a value counts.',
      },
      { path: 'group.min', label: 'At least', kind: 'number', empty: '2' },
      { path: 'group.max', label: 'At most', kind: 'number', empty: '16' },
    ],
  },
  {
    title: 'Evaluation',
    fields: [
      { path: 'split.eval_percent', label: 'Percent held back', kind: 'number', empty: '0' },
      {
        path: 'split.by',
        label: 'Kept together by',
        kind: 'text',
        empty: 'group',
        hint: 'group, thread, user, or a path into the root call.',
      },
      { path: 'split.salt', label: 'Salt', kind: 'text', empty: 'none' },
    ],
  },
  {
    title: 'Training',
    fields: [
      {
        path: 'train.experimental_config',
        label: 'Goes to the trainer as it stands',
        kind: 'json',
        empty: '{ "learning_rate": 0.00001 }',
      },
    ],
  },
];

export const termFields = (place: number): readonly FieldSpec[] => {
  const at = `reward.sum[${place}]`;
  return [
    { path: `${at}.feedback`, label: 'Feedback', kind: 'text', suggest: 'feedback' },
    { path: `${at}.path`, label: 'Path in its payload', kind: 'text', empty: 'output.score' },
    { path: `${at}.weight`, label: 'Weight', kind: 'number', empty: '1' },
    {
      path: `${at}.take`,
      label: 'Of several',
      kind: 'choice',
      empty: 'last',
      options: ['last', 'sum', 'mean', 'max'],
    },
    {
      path: `${at}.map`,
      label: 'Worth of values',
      kind: 'json',
      empty: '{ "👍": 1, "👎": 0 }',
      hint: 'Feedback with another value does not count.',
    },
  ];
};
