/** What was said, as far as it is in the form that chat models take and give. */
export interface Said {
  role: string;
  text: string;
  toolCalls: { name: string; args: string }[];
  /** A choice of a trajectory: the policy is trained on it. */
  isTrained?: true;
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The messages of a call, what came in first; undefined when it is no chat. */
export function chatOf(inputs: unknown, output: unknown): Said[] | undefined {
  const asked = messagesIn(inputs);
  if (!asked) return undefined;
  return [...asked, ...(answersIn(output) ?? [])];
}

/** The turns of a trajectory: messages, and choices, which are told by their `message`. What is neither is left out. */
export const turnsOf = (items: unknown): Said[] =>
  (Array.isArray(items) ? items : []).flatMap((item): Said[] => {
    const message = isObject(item) ? item['message'] : undefined;
    const said = saidIn(message ?? item);
    if (!said) return [];
    return [message === undefined ? said : { ...said, isTrained: true }];
  });

function messagesIn(inputs: unknown): Said[] | undefined {
  if (!isObject(inputs)) return undefined;
  for (const list of [inputs['messages'], inputs['input'], inputs['input_messages']]) {
    if (!Array.isArray(list) || list.length === 0) continue;
    const said = list.map(saidIn);
    if (said.every((one) => one !== undefined)) return said;
  }
  return undefined;
}

function answersIn(output: unknown): Said[] | undefined {
  if (!isObject(output)) return undefined;
  const { choices, message, messages, content } = output;
  const list = Array.isArray(choices)
    ? choices.map((choice) => (isObject(choice) ? choice['message'] : undefined))
    : Array.isArray(messages)
      ? messages
      : [message ?? (content !== undefined ? { role: 'assistant', ...output } : undefined)];
  const said = list.map(saidIn).filter((one) => one !== undefined);
  return said.length > 0 ? said : undefined;
}

function saidIn(message: unknown): Said | undefined {
  if (!isObject(message) || typeof message['role'] !== 'string') return undefined;
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  return {
    role: message['role'],
    text: textOf(message['content']),
    toolCalls: calls.filter(isObject).map(({ function: called }) => {
      const { name, arguments: args } = isObject(called) ? called : {};
      return {
        name: typeof name === 'string' ? name : 'tool',
        args: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
      };
    }),
  };
}

/** A text, or the texts among the parts; other parts by their kind. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content
    .map((part) =>
      isObject(part) && typeof part['text'] === 'string'
        ? part['text']
        : `[${isObject(part) ? String(part['type']) : typeof part}]`,
    )
    .join('\n');
}
