import { asks, type Operation } from '../support/operation-rows.js';
import { plantServed } from '../training/serving.operations.js';

const ASKS_AGAIN = 'asks the provider again, as each request does';

export const gatewayOperations: Record<string, Operation> = {
  'GET /v1/models': asks(() => ({}), {
    elsewhere: 200,
    isShowing: true,
    isForAll: true,
    plant: plantServed,
  }),
  'POST /v1/chat/completions': asks(
    ({ project }) => ({
      headers: { 'x-skein-project': project },
      body: { model: 'echo', messages: [] },
    }),
    { changes: ['calls'], harmless: ASKS_AGAIN },
  ),
  'POST /v1/completions': asks(
    ({ project }) => ({
      headers: { 'x-skein-project': project },
      body: { model: 'echo', prompt: 'a' },
    }),
    { changes: ['calls'], harmless: ASKS_AGAIN },
  ),
  'POST /v1/responses': asks(
    ({ project }) => ({
      headers: { 'x-skein-project': project },
      body: { model: 'echo', input: 'a' },
    }),
    { changes: ['calls'], harmless: ASKS_AGAIN },
  ),
};
