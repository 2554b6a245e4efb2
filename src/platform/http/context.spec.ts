import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request } from 'express';
import { BodyBudget } from './body-budget.js';
import { Context } from './context.js';

const MIB = 1024 * 1024;

function makeContext(user?: object, budget = new BodyBudget(64 * MIB)) {
  const request = Object.assign(new IncomingMessage(new Socket()), { user }) as unknown as Request;
  return new Context(request, new ServerResponse(request), { budget, maxBytes: 1, timeoutMs: 1 });
}

it('holds answers that wait for their clients, and refuses one at once for which there is no room', () => {
  const budget = new BodyBudget(64 * MIB);
  const contexts: Context[] = [];
  const answer = () => {
    contexts.push(makeContext({ owner: 'a/k' }, budget));
    contexts.at(-1)!.holdAnswer('x'.repeat(4 * MIB));
  };
  for (let i = 0; i < 7; i++) answer(); // large bodies have seven eighths of the budget
  expect(() => answer()).toThrow('the memory for bodies is in use');
  contexts[0]!.hold.release();
  answer();
  for (const { hold } of contexts) hold.release();
});

it('says when the client has gone, also to who asks later', () => {
  const context = makeContext();
  const { signal } = context;
  expect(signal.aborted).toBe(false);
  context.response.emit('close');
  expect(signal.aborted).toBe(true);
  const late = makeContext();
  late.response.destroy();
  expect(late.signal.aborted).toBe(true);
});

it('tells nobody a caller or a text that there is not', () => {
  expect(() => makeContext().caller).toThrow('nobody is known');
  expect(() => makeContext().text).toThrow('no body was read');
});
