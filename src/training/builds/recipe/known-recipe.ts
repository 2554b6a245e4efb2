import { ApiError, invalidRequest } from '../../../platform/errors.js';
import { parseRef } from '../../../platform/http/refs.js';
import type { ObjectsService } from '../../../tracing/objects/objects.service.js';
import { type Recipe, readRecipe } from './recipe.js';

const MAX_RECIPE_BYTES = 256 * 1024;

/** A recipe, and the name and digest that it was published under. Both are null for a recipe in the request itself. */
export interface KnownRecipe {
  recipe: Recipe;
  text: string;
  name: string | null;
  digest: string | null;
  path: string;
}

/**
 * Finds the recipe that a request contains or refers to.
 * @throws ApiError when the recipe does not exist, or is not valid
 */
export async function findRecipe(
  objects: ObjectsService,
  body: { project_id: string; recipe?: object | null; recipe_ref?: string | null },
): Promise<KnownRecipe> {
  const { project_id, recipe, recipe_ref } = body;
  if (Boolean(recipe) === Boolean(recipe_ref))
    throw new ApiError('invalid_request', 'exactly one of recipe and recipe_ref is required');
  if (recipe) {
    const path = 'recipe';
    return { recipe: readRecipe(recipe, path), text: '', name: null, digest: null, path };
  }
  const path = 'recipe_ref';
  const ref = parseRef(recipe_ref!);
  if (ref?.kind !== 'object' || ref.projectId !== project_id)
    throw invalidRequest([{ path, message: 'must be the ref of an object of the project' }]);
  const version = { project_id, object_id: ref.name, digest: ref.digest! };
  const text = await objects.valueUpTo(version, MAX_RECIPE_BYTES);
  if (text === null)
    throw new ApiError('too_large', `the recipe is over the limit of ${MAX_RECIPE_BYTES} bytes`);
  const metadata = await objects.read({ ...version, metadata_only: true });
  const { digest } = JSON.parse(metadata) as { digest: string };
  return { recipe: readRecipe(JSON.parse(text!), path), text: text!, name: ref.name, digest, path };
}
