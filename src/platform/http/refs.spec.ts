import { parseRef } from './refs.js';

it.each([
  [
    'svc:///acme/demo/object/prompt:abc123',
    { projectId: 'acme/demo', kind: 'object', name: 'prompt', digest: 'abc123', path: [] },
  ],
  [
    'svc:///acme/demo/op/run:v0',
    { projectId: 'acme/demo', kind: 'op', name: 'run', digest: 'v0', path: [] },
  ],
  [
    'svc:///acme/demo/object/d:x/attr/rows/index/0',
    {
      projectId: 'acme/demo',
      kind: 'object',
      name: 'd',
      digest: 'x',
      path: ['attr', 'rows', 'index', '0'],
    },
  ],
  [
    'svc:///acme/demo/call/0192-id',
    { projectId: 'acme/demo', kind: 'call', name: '0192-id', digest: null, path: [] },
  ],
  [
    'svc:///acme/demo/agent_span/b7ad6b7169203331',
    {
      projectId: 'acme/demo',
      kind: 'agent_span',
      name: 'b7ad6b7169203331',
      digest: null,
      path: [],
    },
  ],
  [
    'svc:///acme/demo/agent_turn/0af7651916cd43dd8448eb211c80319c',
    {
      projectId: 'acme/demo',
      kind: 'agent_turn',
      name: '0af7651916cd43dd8448eb211c80319c',
      digest: null,
      path: [],
    },
  ],
  [
    'svc:///acme/demo/agent_conversation/a%2Fb',
    { projectId: 'acme/demo', kind: 'agent_conversation', name: 'a%2Fb', digest: null, path: [] },
  ],
  [
    'weave:///acme/demo/op/run:v0',
    { projectId: 'acme/demo', kind: 'op', name: 'run', digest: 'v0', path: [] },
  ],
])('reads %s', (text, ref) => expect(parseRef(text)).toEqual(ref));

it.each([
  '',
  'wandb:///acme/demo/op/run:v0',
  'svc://acme/demo/op/run:v0',
  'svc:///acme/op/run:v0',
  'svc:///acme/demo/op/run',
  'svc:///acme/demo/table/x:y',
  'svc:///acme/demo/call/',
  'svc:///acme/demo/op/run:v0 ',
  'svc:///acme/demo/op/:v0',
  'svc:///acme/../op/run:v0',
  'svc:///./demo/op/run:v0',
  'svc:///acme/demo/agent_turn/',
  5,
  null,
])('refuses %j', (text) => expect(parseRef(text)).toBeNull());
