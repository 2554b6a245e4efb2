import { chatOf, turnsOf } from './chat.ts';

it('reads what chat models take and give', () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look:' },
        { type: 'image_url', image_url: {} },
      ],
    },
  ];
  const message = {
    role: 'assistant',
    content: null,
    tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }],
  };
  expect(chatOf({ messages }, { choices: [{ message }] })).toEqual([
    { role: 'system', text: 'Be brief.', toolCalls: [] },
    { role: 'user', text: 'Look:\n[image_url]', toolCalls: [] },
    { role: 'assistant', text: '', toolCalls: [{ name: 'f', args: '{"a":1}' }] },
  ]);
  expect(
    chatOf({ messages: [messages[0]] }, { role: 'assistant', content: 'Yes' })?.at(-1)?.text,
  ).toBe('Yes');
});

it.each([
  [{}],
  [{ messages: [] }],
  [{ messages: ['a'] }],
  [null],
  [[]],
  [{ messages: [{ content: 'no role' }] }],
])('%j is no chat', (inputs) => expect(chatOf(inputs, {})).toBeUndefined());

it('tells the turns of a trajectory that are trained from those that are not', () => {
  const message = { role: 'assistant', content: 'Four' };
  expect(turnsOf([{ role: 'user', content: '2 + 2' }, { message, index: 0 }, 7])).toEqual([
    { role: 'user', text: '2 + 2', toolCalls: [] },
    { role: 'assistant', text: 'Four', toolCalls: [], isTrained: true },
  ]);
  expect(turnsOf('nothing')).toEqual([]);
});
