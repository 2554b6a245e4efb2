import { exportOperations } from '../doors/export.operations.js';
import { gatewayOperations } from '../doors/gateway.operations.js';
import { langfusePromptsOperations } from '../doors/langfuse-prompts.operations.js';
import { langfuseOperations } from '../doors/langfuse.operations.js';
import { mcpOperations } from '../doors/mcp.operations.js';
import { otelOperations } from '../doors/otel.operations.js';
import { weaveOperations } from '../doors/weave.operations.js';
import { auditOperations } from '../platform/audit.operations.js';
import { authOperations } from '../platform/auth.operations.js';
import { erasingOperations } from '../platform/erasing.operations.js';
import { eventsOperations } from '../platform/events.operations.js';
import { peopleOperations } from '../platform/people.operations.js';
import { annotationOperations } from '../tracing/annotation.operations.js';
import { callsOperations } from '../tracing/calls.operations.js';
import { costsOperations } from '../tracing/costs.operations.js';
import { datasetsOperations } from '../tracing/datasets.operations.js';
import { evaluationsOperations } from '../tracing/evaluations.operations.js';
import { feedbackOperations } from '../tracing/feedback.operations.js';
import { objectsOperations } from '../tracing/objects.operations.js';
import { promptsOperations } from '../tracing/prompts.operations.js';
import { projectsOperations } from '../tracing/projects.operations.js';
import { retentionOperations } from '../tracing/retention.operations.js';
import { threadsOperations } from '../tracing/threads.operations.js';
import { buildsOperations } from '../training/builds.operations.js';
import { jobsOperations } from '../training/jobs.operations.js';
import { modelsOperations } from '../training/models.operations.js';
import { promotionOperations } from '../training/promotion.operations.js';
import { servingOperations } from '../training/serving.operations.js';
import { sftOperations } from '../training/sft.operations.js';
import { taintedOperations } from '../training/tainted.operations.js';
import type { Operation } from './operation-rows.js';

/** Routes without authentication and their status. They return no data of a project. */
export const PUBLIC: Record<string, 200 | 401 | 403 | 404 | 405> = {
  'GET /health': 200,
  'GET /ready': 200,
  'GET /errors': 200,
  'GET /metrics': 200,
  'GET /server_info': 200,
  'GET /api/public/health': 200,
  // without a signature
  'GET /api/public/media/:id/content': 403,
  'PUT /api/public/media/:id/content': 403,
  'GET /openapi.json': 200,
  'POST /console/login': 401,
  'POST /console/logout': 401,
  // no such provider is configured
  'GET /auth/:provider/sign-in': 404,
  'GET /auth/:provider/callback': 404,
  'POST /auth/:provider/back-channel-logout': 404,
  'GET /mcp': 405,
  'DELETE /mcp': 405,
  'GET /docs': 200,
  'GET /docs/': 200,
  'GET /docs/index.html': 200,
  'GET /docs/LICENSE': 404,
  'GET /docs/swagger-ui-init.js': 200,
  'GET /docs/docs/swagger-ui-init.js': 200,
};

/**
 * All operations that need a key, by route. The rows of `src/<wing>/<feature>/` are in
 * `test/<wing>/<feature>.operations.ts`. `access-matrix.long-spec.ts` sends each with every kind of key,
 * `idempotency.e2e-spec.ts` sends each write twice, and `events.long-spec.ts` checks the events of each.
 */
export const OPERATIONS: Record<string, Operation> = {
  ...authOperations,
  ...peopleOperations,
  ...auditOperations,
  ...eventsOperations,
  ...projectsOperations,
  ...retentionOperations,
  ...callsOperations,
  ...threadsOperations,
  ...evaluationsOperations,
  ...objectsOperations,
  ...promptsOperations,
  ...datasetsOperations,
  ...annotationOperations,
  ...costsOperations,
  ...feedbackOperations,
  ...buildsOperations,
  ...taintedOperations,
  ...promotionOperations,
  ...modelsOperations,
  ...jobsOperations,
  ...sftOperations,
  ...servingOperations,
  ...otelOperations,
  ...langfuseOperations,
  ...langfusePromptsOperations,
  ...exportOperations,
  ...gatewayOperations,
  ...weaveOperations,
  ...mcpOperations,
  // must be last: it leaves no data for other operations
  ...erasingOperations,
};
