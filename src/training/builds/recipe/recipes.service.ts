import { Injectable } from '@nestjs/common';
import { ApiError, invalidRequest } from '../../../platform/errors.js';
import { parseRef } from '../../../platform/http/refs.js';
import { ObjectsService } from '../../../tracing/objects/objects.service.js';
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

/** Finds the recipe that a request contains or refers to. */
@Injectable()
export class RecipesService {
  constructor(private readonly objects: ObjectsService) {}

  /** @throws ApiError when the recipe does not exist, or is not valid */
  async find(body: {
    project_id: string;
    recipe?: object | null;
    recipe_ref?: string | null;
  }): Promise<KnownRecipe> {
    const { project_id: projectId, recipe, recipe_ref: ref } = body;
    if (Boolean(recipe) === Boolean(ref))
      throw new ApiError('invalid_request', 'exactly one of recipe and recipe_ref is required');
    if (recipe)
      return {
        recipe: readRecipe(recipe, 'recipe'),
        text: '',
        name: null,
        digest: null,
        path: 'recipe',
      };
    return this.findPublished(projectId, ref!);
  }

  private async findPublished(projectId: string, text: string): Promise<KnownRecipe> {
    const path = 'recipe_ref';
    const ref = parseRef(text);
    if (ref?.kind !== 'object' || ref.projectId !== projectId)
      throw invalidRequest([{ path, message: 'must be the ref of an object of the project' }]);
    const version = { project_id: projectId, object_id: ref.name, digest: ref.digest! };
    const val = await this.objects.valueUpTo(version, MAX_RECIPE_BYTES);
    if (val === null)
      throw new ApiError('too_large', `the recipe is over the limit of ${MAX_RECIPE_BYTES} bytes`);
    const metadata = await this.objects.read({ ...version, metadata_only: true });
    const { digest } = JSON.parse(metadata) as { digest: string };
    return { recipe: readRecipe(JSON.parse(val!), path), text: val!, name: ref.name, digest, path };
  }
}
