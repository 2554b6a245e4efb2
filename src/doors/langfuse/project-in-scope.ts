import { langfuseProjectKey } from '../../platform/auth/basic.strategy.js';
import { invalidRequest } from '../../platform/errors.js';
import type { Context } from '../../platform/http/context.js';
import { isProjectId, PROJECT_PART_RULE } from '../../platform/http/dto.js';

const NO_PROJECT = `must be named by the public key, as <entity>/<project>, where the secret key reaches several; each must ${PROJECT_PART_RULE}`;

/**
 * Returns the project that a request of Langfuse's API is about.
 * @throws ApiError `invalid_request`, `forbidden`
 */
export function projectInScope(context: Context): string {
  const { headers, caller } = context;
  const named = headers['project_id'] ?? langfuseProjectKey(headers.authorization);
  const project = named ?? caller.onlyProject;
  if (!isProjectId(project)) throw invalidRequest([{ path: 'project_id', message: NO_PROJECT }]);
  context.assertReaches(project);
  return project;
}
