import { queryOptions } from '@tanstack/react-query';
import { allLines, post, type Schema } from './client.ts';
import { keys } from './keys.ts';
import { wire } from './wire.ts';

/** Class of the objects that hold questions for annotators, with a `field_schema`. */
export const SPEC_CLASS = 'AnnotationSpec';

const MOST_SPECS = 100;
const MOST_QUEUES = 1000;

/** The part of JSON Schema that the forms support. */
export interface FieldSchema {
  type?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
}

export interface AnnotationSpec {
  /** The name of the object. Feedback is given under this name. */
  name: string;
  ref: string;
  label: string;
  description: string;
  schema: FieldSchema;
}

export const specsQuery = (project_id: string) =>
  queryOptions({
    queryKey: keys.annotationSpecs(project_id),
    queryFn: async ({ signal }): Promise<AnnotationSpec[]> => {
      const filter = { latest_only: true, base_object_classes: [SPEC_CLASS] };
      const { objs } = await post(
        '/objs/query',
        { project_id, filter, limit: MOST_SPECS },
        { signal },
      );
      return objs.map(({ object_id, digest, val }) =>
        readSpec(`${wire.scheme}:///${project_id}/object/${object_id}:${digest}`, val),
      );
    },
  });

export function readSpec(ref: string, val: unknown): AnnotationSpec {
  const { name, description, field_schema } = { ...(val as Record<string, unknown>) };
  const id = specName(ref);
  return {
    name: id,
    ref,
    label: typeof name === 'string' && name !== '' ? name : id,
    description: typeof description === 'string' ? description : '',
    schema: typeof field_schema === 'object' && field_schema !== null ? field_schema : {},
  };
}

export const specName = (ref: string): string => /\/object\/([^:/]+):/.exec(ref)?.[1] ?? ref;

export type Queue = Schema<'AnnotationQueueDto'>;
export type QueueItem = Schema<'AnnotationItemDto'>;

export const queuesQuery = (project_id: string) =>
  queryOptions({
    queryKey: keys.queues(project_id),
    queryFn: ({ signal }) =>
      allLines('/annotation_queues/query', { project_id, limit: MOST_QUEUES }, signal),
  });
