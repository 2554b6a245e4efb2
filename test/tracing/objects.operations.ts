import {
  administers,
  type Build,
  counts,
  fresh,
  onlyProject,
  type Operation,
  reads,
  withBody,
  writes,
} from '../support/operation-rows.js';
import { aFileForm, OBJECT, refOf } from '../support/planted.js';

/** A request about tags of the planted object version. */
const ofVersion: Build = ({ project, objectDigest }) => ({
  params: { object_id: OBJECT, digest: objectDigest },
  body: { project_id: project, tags: [fresh()] },
});

const createFile: Build = ({ project }) => ({ body: aFileForm(project, fresh()) });
const readFile = withBody(({ fileDigest }) => ({ digest: fileDigest }));
const ofTable = withBody(({ tableDigest }) => ({ digest: tableDigest }));

export const objectsOperations: Record<string, Operation> = {
  'POST /objs/purge': administers(
    async ({ project }, app) => {
      const obj = { project_id: project, object_id: fresh(), val: 1 };
      await app.post('/obj/create', { obj });
      return { body: { project_id: project, object_id: obj.object_id } };
    },
    { changes: ['feedback', 'objects'] },
  ),

  'POST /obj/create': writes(
    ({ project }) => ({
      body: { obj: { project_id: project, object_id: OBJECT, val: fresh() } },
    }),
    { changes: ['objects'] },
  ),
  'POST /obj/read': reads(
    withBody(({ objectDigest }) => ({ object_id: OBJECT, digest: objectDigest })),
  ),
  'POST /obj/delete': writes(
    async ({ project }, app) => {
      const obj = { project_id: project, object_id: fresh(), val: 1 };
      await app.post('/obj/create', { obj });
      return { body: { project_id: project, object_id: obj.object_id } };
    },
    { changes: ['objects'] },
  ),
  'POST /objs/query': reads(onlyProject),
  'PUT /objs/:object_id/aliases': writes(
    ({ project, objectDigest }) => ({
      params: { object_id: OBJECT },
      body: { project_id: project, digest: objectDigest, aliases: [fresh()] },
    }),
    { changes: ['objects'] },
  ),
  'POST /objs/:object_id/aliases/remove': writes(
    ({ project }) => ({
      params: { object_id: OBJECT },
      body: { project_id: project, aliases: [fresh()] },
    }),
    { changes: ['objects'] },
  ),
  'PUT /objs/:object_id/versions/:digest/tags': writes(ofVersion, { changes: ['objects'] }),
  'POST /objs/:object_id/versions/:digest/tags/remove': writes(ofVersion, { changes: ['objects'] }),
  'GET /tags': reads(({ project }) => ({ query: `?project_id=${project}` })),
  'GET /aliases': reads(({ project }) => ({ query: `?project_id=${project}` })),
  'POST /refs/read_batch': reads(({ project, objectDigest }) => ({
    body: { refs: [refOf(project, `object/${OBJECT}:${objectDigest}`)] },
  })),

  'POST /table/create': writes(
    ({ project }) => ({
      body: { table: { project_id: project, rows: [{ a: fresh() }] } },
    }),
    { changes: ['objects'], harmless: 'stores rows by their digests' },
  ),
  'POST /table/update': writes(
    withBody(({ tableDigest }) => ({
      base_digest: tableDigest,
      updates: [{ append: { row: { a: fresh() } } }],
    })),
    {
      changes: ['objects'],
      harmless: 'stores rows by their digests, and leaves the table it starts from as it is',
    },
  ),
  'POST /table/create_from_digests': writes(
    withBody(({ rowDigest }) => ({ row_digests: [rowDigest, rowDigest] })),
    { changes: ['objects'], harmless: 'stores a table by its digest' },
  ),
  'POST /table/query': reads(ofTable),
  'POST /table/query_stats': counts(ofTable),
  'POST /table/query_stats_batch': counts(
    withBody(({ tableDigest }) => ({ digests: [tableDigest] })),
  ),

  'POST /file/create': writes(createFile, {
    changes: ['objects'],
    harmless: 'stores bytes by their digest',
  }),
  'POST /files/create': writes(createFile, {
    changes: ['objects'],
    harmless: 'stores bytes by their digest',
  }),
  'POST /file/content': reads(readFile),
  'POST /files/content': reads(readFile),
};
