import { counts, type Operation, SCHEMES } from '../support/operation-rows.js';

export const mcpOperations: Record<string, Operation> = {
  'POST /mcp': {
    ...counts(({ project }) => ({
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'read_call', arguments: { project_id: project, id: 'call' } },
      },
    })),
    schemes: [...SCHEMES],
    // a tool refuses with a successful answer that has `isError`
    elsewhere: 200,
    isShowing: true,
  },
};
