import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import { CONFIG, type Config } from '../../../platform/config/config.js';
import { isOpenModel, type ModelProvider } from '../../../platform/config/gateway-settings.js';
import { ApiError } from '../../../platform/errors.js';
import { isProjectId } from '../../../platform/http/dto.js';
import { ServingService } from '../../../training/serving/serving.service.js';

export interface ModelTarget {
  provider: ModelProvider;
  model: string;
  /** `<name>:step<N>` of a checkpoint; null for a model of the provider. */
  checkpoint: string | null;
}

interface ModelName {
  projectId: string | undefined;
  name: string;
  step: number | null;
  alias: string | null;
}

const ARTIFACT = /^wandb-artifact:\/\/\/([^/:]+\/[^/:]+)\/(.+)$/;
const CHECKPOINT = /^(.+):(?:step(\d{1,9})|(current|latest))$/s;

/** Maximum number of listed names; error messages list `MAX_TOLD`. */
const MAX_NAMES = 1000;
const MAX_TOLD = 20;

/** Returns the project of a name such as `wandb-artifact:///<entity>/<project>/<model>`. */
export function artifactProject(model: string): string | undefined {
  const project = ARTIFACT.exec(model)?.[1];
  return isProjectId(project) ? project : undefined;
}

/** Resolves names of models to served checkpoints and to models of providers. */
@Injectable()
export class ModelNamesService {
  @Inject(CONFIG) private readonly config!: Config;

  constructor(private readonly serving: ServingService) {}

  /** @throws ApiError `not_found` with the names that are served, `forbidden` */
  async find(model: string, projectId: string, caller: Caller): Promise<ModelTarget> {
    const name = readName(model);
    const isArtifact = name.projectId !== undefined;
    if (isArtifact) caller.assertReaches(name.projectId!);
    const project = name.projectId ?? projectId;
    const found =
      (await this.findCheckpoint(project, name)) ??
      (name.name === model
        ? null
        : await this.findCheckpoint(project, { ...name, name: model, step: null, alias: null }));
    if (found === 'not served')
      throw await this.unknown(`no provider serves "${model}" now`, project, caller);
    const target = found ?? (isArtifact ? null : this.findOfProvider(model));
    if (!target) throw await this.unknown(`there is no model "${model}"`, project, caller);
    return target;
  }

  /** Lists the names that the key may request. A name that ends with `*` is a prefix. */
  async list(projectId: string | undefined, caller: Caller) {
    const served = await this.serving.list(caller, projectId, MAX_NAMES);
    const ofProjects = served.map(({ project_id, name, step, created }) => ({
      id:
        project_id === projectId
          ? `${name}:step${step}`
          : `wandb-artifact:///${project_id}/${name}:step${step}`,
      created,
      owned_by: project_id,
    }));
    const ofProviders = this.config.gatewayProviders.flatMap(({ name, models }) =>
      models.map((id) => ({ id, created: 0, owned_by: name })),
    );
    return [...ofProjects, ...ofProviders];
  }

  private async findCheckpoint(
    projectId: string,
    { name, step, alias }: ModelName,
  ): Promise<ModelTarget | 'not served' | null> {
    const rows = await this.serving.find(projectId, name, { step, alias });
    if (!rows) return null;
    const [newest] = rows;
    const targets = rows.flatMap((row) => {
      const provider = this.config.gatewayProviders.find((one) => one.name === row.provider);
      return provider && row.step === newest!.step
        ? [{ provider, model: row.upstream_model! }]
        : [];
    });
    if (targets.length === 0) return 'not served';
    const one = targets[Math.floor(Math.random() * targets.length)]!;
    return { ...one, checkpoint: `${name}:step${newest!.step}` };
  }

  /**
   * Finds the provider that lists the exact name, else the one with the longest matching prefix. If none matches,
   * `<provider>/<model>` selects the provider.
   */
  private findOfProvider(model: string): ModelTarget | null {
    const { gatewayProviders: providers } = this.config;
    let [best, length]: [ModelTarget | null, number] = [null, -1];
    for (const provider of providers)
      for (const pattern of provider.models) {
        const fit = fitLength(pattern, model);
        if (fit > length) [best, length] = [{ provider, model, checkpoint: null }, fit];
      }
    if (best) return best;
    const [named, ...rest] = model.split('/');
    const provider = providers.find(({ name }) => name === named);
    const own = rest.join('/');
    const isOpen = provider && own !== '' && isOpenModel(provider, own);
    return isOpen ? { provider, model: own, checkpoint: null } : null;
  }

  private async unknown(what: string, projectId: string, caller: Caller): Promise<ApiError> {
    const names = (await this.list(projectId, caller)).map(({ id }) => id);
    const told = names.slice(0, MAX_TOLD).join(', ');
    const more = names.length > MAX_TOLD ? ` and ${names.length - MAX_TOLD} more` : '';
    const served = names.length === 0 ? 'nothing is served' : `these are served: ${told}${more}`;
    return new ApiError('not_found', `${what}: ${served}`, {
      extra: { openai: 'model_not_found' },
    });
  }
}

/** Returns the length of the matching prefix, Infinity for an exact match, and -1 for no match. */
function fitLength(pattern: string, model: string): number {
  if (!pattern.endsWith('*')) return pattern === model ? Infinity : -1;
  return model.startsWith(pattern.slice(0, -1)) ? pattern.length - 1 : -1;
}

function readName(model: string): ModelName {
  const [, project, rest] = ARTIFACT.exec(model) ?? [];
  const isArtifact = isProjectId(project);
  const named = isArtifact ? rest! : model;
  const [, name = named, step, word] = CHECKPOINT.exec(named) ?? [];
  return {
    projectId: isArtifact ? project : undefined,
    name,
    step: step === undefined ? null : Number(step),
    alias: word === 'current' ? word : null,
  };
}
