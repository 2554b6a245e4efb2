import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { post, type Schema, send } from '../../api/client.ts';
import { keys } from '../../api/keys.ts';
import { Problem, type Violation } from '../../api/problem.ts';
import { wire } from '../../api/wire.ts';
import { formatJson } from '../../json/json-format.ts';
import { indexJson } from '../../json/json-indexer.ts';
import { type Hint, type BuildPreview, readGroup, type Sample } from '../queries.ts';

export const recipesQuery = (project_id: string) =>
  queryOptions({
    queryKey: keys.recipes(project_id),
    queryFn: async ({ signal }) => {
      const { objs } = await post(
        '/objs/query',
        {
          project_id,
          filter: { latest_only: true, leaf_object_classes: ['Recipe'] },
          sort_by: [{ field: 'created_at', direction: 'desc' }],
          limit: 1000,
          metadata_only: true,
        },
        { signal },
      );
      return objs.map(({ object_id }) => object_id);
    },
  });

export interface PublishedRecipe {
  /** The recipe, formatted for reading. Names and scalars are as they were sent. */
  text: string;
  digest: string;
  version: number;
}

/** Reads the newest version of a recipe; null when none exists. */
export const recipeQuery = (project_id: string, object_id: string) =>
  queryOptions({
    queryKey: keys.recipe(project_id, object_id),
    queryFn: async ({ signal }): Promise<PublishedRecipe | null> => {
      try {
        const body = { project_id, object_id, digest: 'latest' };
        const response = await send('POST', '/obj/read', { body, signal });
        const index = await indexJson(await response.text(), signal);
        const obj = index.member(0, 'obj')!;
        const member = (name: string) => index.member(obj, name)!;
        return {
          text: formatJson(index, member('val')),
          digest: JSON.parse(index.nodeText(member('digest'))) as string,
          version: Number(index.nodeText(member('version_index'))),
        };
      } catch (error) {
        if (error instanceof Problem && error.status === 404) return null;
        throw error;
      }
    },
  });

/** Publishes the text unchanged. */
export async function publishRecipe(
  project_id: string,
  object_id: string,
  text: string,
): Promise<Schema<'ObjectCreatedDto'>> {
  const head = JSON.stringify({ project_id, object_id }).slice(0, -1);
  const response = await send('POST', '/obj/create', { body: `{"obj":${head},"val":${text}}}` });
  return (await response.json()) as Schema<'ObjectCreatedDto'>;
}

export const recipeRef = (project: string, name: string, digest: string): string =>
  `${wire.scheme}:///${project}/object/${name}:${digest}`;

export type Mode = 'all' | 'new';

/** A published recipe by its ref, or the text of an unpublished one. */
export type RecipeSource = { recipe_ref: string } | { text: string };

export interface PreviewResult {
  made: BuildPreview;
  hint: Hint;
  samples: Sample[][];
}

const SAMPLES = 1;

/** Reads a preview of a recipe without storing anything. A request that is no longer needed is aborted. */
export const previewQuery = (project_id: string, tried: RecipeSource, mode: Mode) =>
  queryOptions({
    queryKey: keys.buildPreview(project_id, tried, mode),
    staleTime: Infinity,
    gcTime: 60_000,
    structuralSharing: false,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<PreviewResult> => {
      const head = JSON.stringify({ project_id, mode, samples: SAMPLES }).slice(0, -1);
      const recipe =
        'text' in tried
          ? `"recipe":${tried.text}`
          : `"recipe_ref":${JSON.stringify(tried.recipe_ref)}`;
      const body = `${head},${recipe}}`;
      const response = await send('POST', '/build/preview', { body, signal });
      const index = await indexJson(await response.text(), signal);
      const samples = index.member(0, 'samples')!;
      const part = <Name extends keyof BuildPreview>(name: Name): BuildPreview[Name] =>
        JSON.parse(index.nodeText(index.member(0, name)!)) as BuildPreview[Name];
      const made: BuildPreview = {
        as_of: part('as_of'),
        digest: part('digest'),
        counts: part('counts'),
        lints: part('lints'),
        facts: part('facts'),
        rewards: part('rewards'),
      };
      const hint = JSON.parse(index.nodeText(index.member(0, 'hint')!)) as Hint;
      return {
        made,
        hint,
        samples: Array.from(index.children(samples), (node) => readGroup(index, node)),
      };
    },
  });

/** The service's faults in a recipe, with their paths. */
export const recipeViolations = (error: unknown): readonly Violation[] =>
  error instanceof Problem
    ? error.violations.map(({ path, message }) => ({
        path: path.replace(/^recipe(_ref)?\.?/, ''),
        message,
      }))
    : [];
