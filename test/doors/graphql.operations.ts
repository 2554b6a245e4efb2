import { counts, type Operation, pathOf } from '../support/operation-rows.js';

export const graphqlOperations: Record<string, Operation> = {
  // GraphQL refuses with an error inside of the answer: see access-nested.e2e-spec.ts
  'POST /graphql': counts(
    (planted) => ({
      body: {
        query:
          'query P($entity: String, $project: String!) { project(entityName: $entity, name: $project) { name } }',
        variables: pathOf(planted),
      },
    }),
    { elsewhere: 200 },
  ),
};
