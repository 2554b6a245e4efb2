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
    title: 'Purpose',
    fields: [
      {
        path: 'purpose',
        label: 'Purpose',
        kind: 'choice',
        empty: 'rl',
        options: PURPOSES,
        hint: 'The purpose sets defaults: sft and kto need no groups, and only rl needs logprobs.',
      },
    ],
  },
  {
    title: 'Selected units',
    fields: [
      { path: 'select.unit', label: 'Unit', kind: 'choice', empty: 'trace', options: UNITS },
      { path: 'select.limit', label: 'Newest units, at most', kind: 'number', empty: '1000' },
      {
        path: 'select.settle_s',
        label: 'Settle time, in seconds',
        kind: 'number',
        empty: '600',
        hint: 'A unit waits until nothing has happened in it for this time.',
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
        label: 'Filter of root calls',
        kind: 'json',
        empty: '{ "op_names": [] }',
        hint: 'The same form as in /calls/stream_query.',
      },
    ],
  },
  {
    title: 'Trained calls',
    fields: [
      {
        path: 'llm.policy',
        label: 'Policy',
        kind: 'text',
        empty: 'any model',
        suggest: 'models',
        hint: 'Training uses only what this model chose. name:stepN counts as name.',
      },
      {
        path: 'llm.op_names',
        label: 'Ops of model calls',
        kind: 'list',
        empty: 'any',
        hint: 'One op per line.',
      },
      { path: 'build.max_tokens', label: 'Maximum tokens', kind: 'number', empty: '32768' },
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
        label: 'Reward without feedback',
        kind: 'number',
        empty: 'skip',
        hint: 'A number, or skip to leave the unit out.',
      },
      {
        path: 'reward.exception',
        label: 'Reward after an exception',
        kind: 'number',
        empty: 'skip',
      },
      {
        path: 'reward.threshold',
        label: 'Good from this reward',
        kind: 'number',
        empty: 'not set',
        hint: 'sft takes only good units, and kto labels them true.',
      },
      {
        path: 'reward.credit',
        label: 'A score rewards its',
        kind: 'choice',
        empty: 'unit',
        options: ['unit', 'turn'],
      },
      {
        path: 'reward.inherit',
        label: 'A call has the score of its',
        kind: 'choice',
        empty: 'themselves',
        options: ['turn', 'thread'],
        hint: 'This counts only when the unit is call.',
      },
    ],
  },
  {
    title: 'Groups',
    fields: [
      {
        path: 'group.by',
        label: 'Group by',
        kind: 'list',
        empty: 'attributes.task_id\nprompt',
        hint: 'Write paths into the root call, or prompt, one per line. The first with a value counts.',
      },
      { path: 'group.min', label: 'Minimum size', kind: 'number', empty: '2' },
      { path: 'group.max', label: 'Maximum size', kind: 'number', empty: '16' },
    ],
  },
  {
    title: 'Evaluation',
    fields: [
      { path: 'split.eval_percent', label: 'Percent for evaluation', kind: 'number', empty: '0' },
      {
        path: 'split.by',
        label: 'Keep together by',
        kind: 'text',
        empty: 'group',
        hint: 'Write group, thread, user, or a path into the root call.',
      },
      { path: 'split.salt', label: 'Salt', kind: 'text', empty: 'none' },
    ],
  },
  {
    title: 'Training',
    fields: [
      {
        path: 'train.experimental_config',
        label: 'Config of the trainer, passed on unchanged',
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
      label: 'Of several values',
      kind: 'choice',
      empty: 'last',
      options: ['last', 'sum', 'mean', 'max'],
    },
    {
      path: `${at}.map`,
      label: 'Rewards of values',
      kind: 'json',
      empty: '{ "👍": 1, "👎": 0 }',
      hint: 'Feedback with another value does not count.',
    },
  ];
};
