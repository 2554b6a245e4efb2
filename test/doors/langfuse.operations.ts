import { createHash } from 'node:crypto';
import { aMediumOf } from '../support/media.js';
import { counts, fresh, type Operation, writes } from '../support/operation-rows.js';

/** An event of Langfuse's ingestion. */
const ingested = (type: string, body: object) => ({
  type,
  id: fresh(),
  timestamp: '2026-01-31T12:00:00.000Z',
  body,
});

export const langfuseOperations: Record<string, Operation> = {
  'POST /api/public/ingestion': writes(
    ({ project, callId }) => ({
      headers: { project_id: project },
      body: {
        batch: [
          ingested('trace-create', { id: fresh(), name: 'said' }),
          ingested('span-update', { id: callId, level: 'DEFAULT' }),
          ingested('score-create', { traceId: callId, name: 'good', value: 1 }),
        ],
      },
    }),
    { changes: ['calls', 'feedback'], harmless: 'is an upsert by the ids that the events name' },
  ),
  'POST /api/public/scores': writes(
    ({ project, callId }) => ({
      headers: { project_id: project },
      body: { name: fresh(), value: 1, traceId: callId },
    }),
    {
      changes: ['feedback'],
      harmless: 'replaces the score with the id, which SDKs send with each: ADR 55',
    },
  ),
  'POST /api/public/media': writes(
    ({ project }) => ({
      headers: { project_id: project },
      body: {
        traceId: 't',
        field: 'input',
        contentType: 'image/png',
        contentLength: 3,
        sha256Hash: createHash('sha256').update(fresh()).digest('base64'),
      },
    }),
    { harmless: 'announces the same bytes again' },
  ),
  'PATCH /api/public/media/:id': writes(
    async (planted, app) => ({
      headers: { project_id: planted.project },
      params: { id: await aMediumOf(planted, app) },
      body: { uploadHttpStatus: 200 },
    }),
    { harmless: 'changes nothing' },
  ),
  'GET /api/public/media/:id': {
    ...counts(async (planted, app) => ({
      headers: { project_id: planted.project },
      params: { id: await aMediumOf(planted, app) },
    })),
    plant: aMediumOf,
  },
  'GET /api/public/projects': counts(({ project }) => ({ headers: { project_id: project } })),
};
