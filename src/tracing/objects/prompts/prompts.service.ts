import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import { Database } from '../../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../../platform/errors.js';
import { refTo } from '../../../platform/http/refs.js';
import { memberTexts, objectText, objectWith } from '../../../platform/json/json-text.js';
import { LabelsService } from '../labels/labels.service.js';
import { ObjectsService } from '../objects.service.js';
import { valuesQuery } from '../objects.query.js';
import {
  type ListedPromptDto,
  MAX_CONFIG_LENGTH,
  MAX_PROMPT_BYTES,
  type PromptCreateDto,
  type PromptDeleteDto,
  type PromptGetDto,
  type PromptLabelsDto,
  type PromptLabelsRemoveDto,
  type PromptsDeletedDto,
  type PromptsQueryDto,
} from './prompts.dto.js';
import { aliasOf, labelsOf, promptObjectId } from './prompt-name.js';
import { assertPrompt, includesIn, type PromptInclude } from './prompt-text.js';
import {
  CLASSES,
  promptName,
  promptType,
  PromptsReader,
  type StoredPrompt,
  versionWord,
} from './prompts-reader.service.js';
import {
  latestQuery,
  nextVersionQuery,
  promptCountQuery,
  promptsQuery,
  promptsWith,
} from './prompts.query.js';

/** Member of a value that names another prompt in its text. Its spelling is searched when that prompt is deleted. */
const INCLUDES = 'prompt_includes';

/** A prompt of a list. `last_config` is a JSON text. */
type ListedPrompt = Omit<ListedPromptDto, 'last_config'> & { last_config: string };

const BASES = ['Prompt', 'Object', 'BaseModel'];

/**
 * Stores prompts as objects of the classes that SDKs publish. Version n is the object's version n - 1, and a label is
 * an alias.
 */
@Injectable()
export class PromptsService {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectsService,
    private readonly labels: LabelsService,
    private readonly reader: PromptsReader,
  ) {}

  /**
   * Stores a new version. `text` is the request body as it was sent.
   * @throws ApiError
   */
  async create(body: PromptCreateDto, text: string, caller: Caller): Promise<StoredPrompt> {
    const { project_id: projectId, name } = body;
    const type = body.type ?? 'text';
    assertPrompt(body.prompt, type);
    const sent = memberTexts(text);
    const prompt = sent.get('prompt')!;
    await this.reader.resolve(projectId, name, prompt).catch(asInvalid);
    const config = (body.config ?? null) === null ? '{}' : sent.get('config')!;
    assertSize('config', config.length, MAX_CONFIG_LENGTH);
    const { name: className, member } = CLASSES[type];
    const value = (version: number) =>
      objectText([
        ['_type', JSON.stringify(className)],
        ['name', JSON.stringify(name)],
        ['description', JSON.stringify(body.commit_message ?? null)],
        [member, prompt],
        ['config', config],
        ['version', String(version)], // a digest is of the whole value: an equal text is a version of its own
        [INCLUDES, `[${includesIn(body.prompt).map(includeText).join(',')}]`],
        ['_class_name', JSON.stringify(className)],
        ['_bases', JSON.stringify(BASES)],
      ]);
    assertSize('prompt', Buffer.byteLength(value(1)), MAX_PROMPT_BYTES);
    const objectId = promptObjectId(name);
    return this.change(projectId, name, async () => {
      const [known] = await this.database.query(nextVersionQuery(projectId, objectId));
      if (known!.is_live) assertType(name, type, known!.class);
      const tags = body.tags ?? (await this.latest(projectId, objectId))?.tags ?? [];
      const val = value(known!.next + 1);
      const created = {
        project_id: projectId,
        object_id: objectId,
        val: { _type: className, _class_name: className, _bases: BASES },
      };
      const { digest } = await this.objects.create(created, val, caller);
      const labels = (body.labels ?? []).filter((label) => label !== 'latest');
      if (labels.length > 0) await this.addLabels(projectId, objectId, { digest, labels }, caller);
      await this.setTags(projectId, objectId, { digest, tags }, caller);
      return known!.next + 1;
    }).then((version) => this.reader.get(projectId, name, { version }));
  }

  /**
   * Moves labels to a version, in one transaction. It keeps its other labels.
   * @throws ApiError `not_found`, `invalid_request`
   */
  async setLabels(body: PromptLabelsDto, caller: Caller): Promise<StoredPrompt> {
    const { project_id: projectId, name, version, labels } = body;
    if (labels.includes('latest'))
      throw invalidRequest([
        { path: 'labels', message: 'must not have "latest", which follows the newest version' },
      ]);
    await this.reader.get(projectId, name, { version });
    const digest = versionWord({ version });
    await this.change(projectId, name, () =>
      this.addLabels(projectId, promptObjectId(name), { digest, labels }, caller),
    );
    return this.reader.get(projectId, name, { version });
  }

  /** @throws ApiError `not_found` */
  async removeLabels(body: PromptLabelsRemoveDto, caller: Caller): Promise<void> {
    const { project_id, name, labels } = body;
    await this.change(project_id, name, () =>
      this.labels.removeAliases(
        { object_id: promptObjectId(name) },
        { project_id, aliases: labels.map(aliasOf) },
        caller,
      ),
    );
  }

  /**
   * Deletes one version or all. Their numbers are not used again.
   * @throws ApiError `not_found`, `invalid_request` when another prompt refers to it
   */
  async delete(body: PromptDeleteDto, caller: Caller): Promise<PromptsDeletedDto> {
    const { project_id: projectId, name } = body;
    const objectId = promptObjectId(name);
    const isOne = Boolean(body.version ?? body.label);
    const one = await this.reader.get(projectId, name, isOne ? body : { label: 'latest' });
    await this.assertUnused(projectId, isOne ? one : { name });
    const digests = isOne ? [versionWord(one)] : null;
    return this.change(projectId, name, async () => {
      const { tags = [] } = (await this.latest(projectId, objectId)) ?? {};
      const deleted = await this.objects.delete(
        { project_id: projectId, object_id: objectId, digests },
        caller,
      );
      const latest = await this.latest(projectId, objectId);
      if (latest) await this.setTags(projectId, objectId, { digest: latest.digest, tags }, caller);
      return deleted;
    });
  }

  async list(query: PromptsQueryDto): Promise<{ prompts: ListedPrompt[]; total: number }> {
    const { project_id: projectId } = query;
    const [count] = await this.database.query(promptCountQuery(query), { long: 'read' });
    const rows = await this.database.query(promptsQuery(query), { long: 'read' });
    const prompts: ListedPrompt[] = [];
    for (const { object_id, versions, aliases, ...row } of rows) {
      // one value at a time, because it may be large and only a part of it is listed
      const [value] = await this.database.query(
        valuesQuery(projectId, [object_id], [versions[0]!]),
      );
      const members = memberTexts(value?.val ?? '{}');
      const config = members.get('config') ?? '{}';
      prompts.push({
        name: promptName(members, object_id),
        type: promptType(row.leaf_object_class) ?? 'text',
        versions: versions.map((index) => index + 1),
        labels: labelsOf(aliases, row.is_latest),
        tags: row.tags,
        last_updated_at: row.updated_at,
        object_id,
        last_config: config.length <= MAX_CONFIG_LENGTH ? config : 'null',
      });
    }
    return { prompts, total: count!.total };
  }

  /** Reads one version, with the texts of the prompts that it refers to unless `resolve` is false. */
  async get(query: PromptGetDto): Promise<StoredPrompt> {
    const { project_id, name, resolve } = query;
    const stored = await this.reader.get(project_id, name, query);
    if (resolve === false) return stored;
    return { ...stored, prompt: await this.reader.resolve(project_id, name, stored.prompt) };
  }

  /** Runs a change alone, and lets this process read the prompt again. */
  private async change<T>(projectId: string, name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.objects.alone(projectId, promptObjectId(name), work);
    } finally {
      this.reader.forget(projectId, name);
    }
  }

  private async latest(projectId: string, objectId: string) {
    const [row] = await this.database.query(latestQuery(projectId, objectId));
    return row;
  }

  private addLabels(
    projectId: string,
    objectId: string,
    { digest, labels }: { digest: string; labels: string[] },
    caller: Caller,
  ): Promise<void> {
    const set = { project_id: projectId, digest, aliases: labels.map(aliasOf) };
    return this.labels.setAliases({ object_id: objectId }, set, caller);
  }

  private async setTags(
    projectId: string,
    objectId: string,
    { digest, tags }: { digest: string; tags: string[] },
    caller: Caller,
  ): Promise<void> {
    const path = { object_id: objectId, digest };
    const known = (await this.latest(projectId, objectId))?.tags ?? [];
    const old = known.filter((tag) => !tags.includes(tag));
    if (old.length > 0)
      await this.labels.removeTags(path, { project_id: projectId, tags: old }, caller);
    if (tags.length > 0) await this.labels.addTags(path, { project_id: projectId, tags }, caller);
  }

  private async assertUnused(
    projectId: string,
    gone: { name: string } | StoredPrompt,
  ): Promise<void> {
    const { name } = gone;
    const words: PromptInclude[] =
      'version' in gone
        ? [{ name, version: gone.version }, ...gone.labels.map((label) => ({ name, label }))]
        : [];
    const texts = words.length > 0 ? words.map(includeText) : [includeStart(name)];
    const users = promptsWith(projectId, promptObjectId(name), texts);
    const [user] = await this.database.query(users, { long: 'read' });
    if (user)
      throw invalidRequest([
        { path: 'name', message: `must not be deleted: the prompt ${user.object_id} refers to it` },
      ]);
  }
}

const includeStart = (name: string) => `{"prompt_name":${JSON.stringify(name)},`;
const includeText = ({ name, ...word }: PromptInclude) =>
  includeStart(name) + JSON.stringify(word).slice(1);

function assertType(name: string, type: string, leafClass: string | null): void {
  const known = promptType(leafClass);
  if (!known) throw new ApiError('conflict', `${name} is the name of an object that is no prompt`);
  if (known !== type)
    throw invalidRequest([
      { path: 'type', message: `must be ${known}, as in the versions of ${name} that exist` },
    ]);
}

function assertSize(path: string, size: number, max: number): void {
  if (size > max)
    throw new ApiError('too_large', `${path} has ${size} bytes, over the limit of ${max}`);
}

/** A prompt cannot be made that refers to one that does not exist. */
function asInvalid(error: unknown): never {
  if (error instanceof ApiError && error.code === 'not_found')
    throw invalidRequest([{ path: 'prompt', message: error.message }]);
  throw error;
}

/** Returns a prompt as the JSON text of a `PromptDto`. */
export function promptJson(projectId: string, stored: StoredPrompt): string {
  const { object_id, digest, prompt, config, user_id } = stored;
  const members = {
    project_id: projectId,
    name: stored.name,
    type: stored.type,
    version: stored.version,
    labels: stored.labels,
    tags: stored.tags,
    commit_message: stored.commit_message,
    created_at: stored.created_at,
    created_by: user_id,
    object_id,
    digest,
    ref: refTo(projectId, `object/${object_id}:${digest}`),
  };
  return objectWith(members, { prompt, config });
}
