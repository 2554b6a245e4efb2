import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database } from '../../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../../platform/errors.js';
import { memberTexts } from '../../../platform/json/json-text.js';
import { parseBounded } from '../../../platform/json/json-weight.js';
import type { PromptGetDto, PromptType } from './prompts.dto.js';
import { aliasOf, labelOf, labelsOf, promptObjectId } from './prompt-name.js';
import { promptQuery, type PromptRow } from './prompts.query.js';
import { includesIn, mapTexts, type PromptInclude, replaceIncludes } from './prompt-text.js';

/** The class of SDKs that holds each type of prompt, and the member of its value that is the prompt. */
export const CLASSES: Record<PromptType, { name: string; member: string }> = {
  text: { name: 'StringPrompt', member: 'content' },
  chat: { name: 'MessagesPrompt', member: 'messages' },
};

/** Age at which a prompt is read again. Another process sees a move of a label after this time, and its own read. */
const FRESH_MS = 500;
const CACHED_PROMPTS = 5000;
const CACHED_BYTES = 16 * 1024 * 1024;
/** Larger prompts are read each time. */
const CACHED_PROMPT_LENGTH = 256 * 1024;

const MAX_DEPTH = 5;
/** References that one prompt resolves, at all depths. */
const MAX_INCLUDES = 50;
const MAX_RESOLVED_LENGTH = 1024 * 1024;

/** A stored version. `prompt` and `config` are JSON texts as they were sent. */
export interface StoredPrompt extends Omit<PromptRow, 'val' | 'aliases'> {
  name: string;
  type: PromptType;
  object_id: string;
  version: number;
  prompt: string;
  config: string;
  labels: string[];
  commit_message: string | null;
}

type PromptWord = Pick<PromptGetDto, 'version' | 'label'>;

/** Reads prompts. A prompt that is fetched often is read from the database twice a second. */
@Injectable()
export class PromptsReader {
  private readonly cache = new LRUCache<string, StoredPrompt>({
    max: CACHED_PROMPTS,
    maxSize: CACHED_BYTES,
    ttl: FRESH_MS,
    sizeCalculation: ({ prompt, config }) => 1000 + 2 * (prompt.length + config.length),
  });
  /** Reads under way, so that equal requests share one. */
  private readonly reading = new Map<string, Promise<StoredPrompt>>();

  constructor(private readonly database: Database) {}

  /**
   * Reads one version.
   * @throws ApiError `not_found`
   */
  get(projectId: string, name: string, asked: PromptWord): Promise<StoredPrompt> {
    if (asked.version && asked.label)
      throw invalidRequest([{ path: 'label', message: 'must be absent beside a version' }]);
    const word = versionWord(asked);
    const key = `${keyOf(projectId, name)}${word}`;
    const kept = this.cache.get(key);
    if (kept) return Promise.resolve(kept);
    const begun = this.reading.get(key);
    if (begun) return begun;
    const reading = this.read(projectId, name, word)
      .then((prompt) => {
        const isSmall = prompt.prompt.length + prompt.config.length <= CACHED_PROMPT_LENGTH;
        if (isSmall && this.reading.get(key) === reading) this.cache.set(key, prompt); // else it has changed meanwhile
        return prompt;
      })
      .finally(() => {
        if (this.reading.get(key) === reading) this.reading.delete(key);
      });
    this.reading.set(key, reading);
    return reading;
  }

  /** Reads a prompt again at its next request, because this process has changed it. */
  forget(projectId: string, name: string): void {
    const prefix = keyOf(projectId, name);
    for (const keys of [this.cache, this.reading])
      for (const key of keys.keys()) if (key.startsWith(prefix)) keys.delete(key);
  }

  /**
   * Puts the texts of other prompts in the places that refer to them.
   * @throws ApiError `invalid_request` for a circle and for what is over a limit, `not_found`
   */
  async resolve(projectId: string, name: string, prompt: string): Promise<string> {
    if (!prompt.includes('@@@langfusePrompt:')) return prompt;
    const budget = { includes: MAX_INCLUDES, length: MAX_RESOLVED_LENGTH };
    const parsed: unknown = parseBounded(prompt);
    return JSON.stringify(await this.resolved(projectId, parsed, [name], budget));
  }

  private async resolved(
    projectId: string,
    prompt: unknown,
    path: readonly string[],
    budget: { includes: number; length: number },
  ): Promise<unknown> {
    const texts = new Map<string, string>();
    for (const include of includesIn(prompt))
      texts.set(JSON.stringify(include), await this.included(projectId, include, path, budget));
    const textOf = (include: PromptInclude) => {
      const text = texts.get(JSON.stringify(include))!;
      budget.length -= text.length;
      if (budget.length < 0) throw tooMuch(`add over ${MAX_RESOLVED_LENGTH} characters`);
      return text;
    };
    return texts.size === 0 ? prompt : mapTexts(prompt, (text) => replaceIncludes(text, textOf));
  }

  private async included(
    projectId: string,
    { name, ...word }: PromptInclude,
    path: readonly string[],
    budget: { includes: number; length: number },
  ): Promise<string> {
    if (path.includes(name)) throw tooMuch(`are a circle: ${[...path, name].join(', ')}`);
    if (path.length > MAX_DEPTH) throw tooMuch(`lie over ${MAX_DEPTH} levels inside each other`);
    if (budget.includes-- === 0) throw tooMuch(`are more than ${MAX_INCLUDES}`);
    const { type, prompt } = await this.get(projectId, name, word);
    if (type !== 'text') throw tooMuch(`name ${name}, which is a chat prompt`);
    const text: unknown = parseBounded(prompt);
    return String(await this.resolved(projectId, text, [...path, name], budget));
  }

  private async read(projectId: string, name: string, word: string): Promise<StoredPrompt> {
    const objectId = promptObjectId(name);
    const [row] = await this.database.query(promptQuery(projectId, objectId, word));
    const found = row && storedPrompt(row, objectId);
    if (found?.name === name) return found;
    const which = /^v\d+$/.test(word)
      ? `version ${Number(word.slice(1)) + 1}`
      : `label ${labelOf(word)}`;
    throw new ApiError('not_found', `there is no prompt ${name} with the ${which}`);
  }
}

/** Returns the word of objects that selects a version of a prompt. */
export function versionWord({ version, label }: PromptWord): string {
  return version ? `v${version - 1}` : aliasOf(label ?? 'production');
}

const keyOf = (projectId: string, name: string) => `${projectId}\n${name}\n`;

const tooMuch = (problem: string) =>
  invalidRequest([{ path: 'prompt', message: `has references to prompts that ${problem}` }]);

/** Undefined for a class of prompts that is neither a text nor a list of messages. */
function storedPrompt(row: PromptRow, objectId: string): StoredPrompt | undefined {
  const type = promptType(row.leaf_object_class);
  if (!type) return undefined;
  const { val, aliases, ...version } = row;
  if (val === null)
    throw new ApiError('too_large', `the prompt ${objectId} is too large to be read as one`);
  const members = memberTexts(val);
  const prompt = members.get(CLASSES[type].member);
  if (prompt === undefined) return undefined;
  return {
    ...version,
    type,
    object_id: objectId,
    name: promptName(members, objectId),
    version: row.version_index + 1,
    prompt,
    config: members.get('config') ?? '{}',
    labels: labelsOf(aliases, row.is_latest),
    commit_message: textMember(members, 'description'),
  };
}

export const promptType = (leafClass: string | null): PromptType | undefined =>
  (['text', 'chat'] as const).find((type) => CLASSES[type].name === leafClass);

/** Returns the name in a value, or the id of the object where an SDK published it under another name. */
export function promptName(members: ReadonlyMap<string, string>, objectId: string): string {
  const name = textMember(members, 'name');
  return name !== null && promptObjectId(name) === objectId ? name : objectId;
}

function textMember(members: ReadonlyMap<string, string>, name: string): string | null {
  const value: unknown = parseBounded(members.get(name) ?? 'null');
  return typeof value === 'string' ? value : null;
}
