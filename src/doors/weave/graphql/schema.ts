import { buildSchema } from 'graphql';
import type { Caller } from '../../../platform/auth/caller.js';
import { isProjectId, PROJECT_PART_RULE } from '../../../platform/http/dto.js';

export const SCHEMA = buildSchema(`
  type Query {
    viewer: User!
    project(name: String!, entityName: String): Project
  }
  type Mutation {
    upsertModel(input: UpsertModelInput!): UpsertModelPayload!
  }
  type User {
    username: String!
    defaultEntity: Entity
  }
  type Entity {
    name: String!
  }
  type Project {
    name: String!
  }
  input UpsertModelInput {
    id: String
    name: String!
    entityName: String
    description: String
    repo: String
  }
  type UpsertModelPayload {
    model: Model!
  }
  type Model {
    name: String!
    description: String
  }
`);

interface ProjectName {
  name: string;
  entityName?: string | null;
}

/** Returns the resolvers for a caller. Projects need not be created: each project that the key reaches exists. */
export function queryRoot(caller: Caller) {
  const projectId = ({ name, entityName }: ProjectName) =>
    `${entityName ?? caller.ownEntity}/${name}`;
  return {
    viewer: () => {
      const { userName, ownEntity } = caller;
      return { username: userName, defaultEntity: ownEntity && { name: ownEntity } };
    },
    project: (project: ProjectName) => {
      const id = projectId(project);
      return isProjectId(id) && caller.reaches(id) ? { name: project.name } : null;
    },
    upsertModel({ input }: { input: ProjectName & { description?: string | null } }) {
      const id = projectId(input);
      if (!isProjectId(id)) throw new Error(`entityName and name must ${PROJECT_PART_RULE}`);
      caller.assertReaches(id);
      return { model: input };
    },
  };
}
