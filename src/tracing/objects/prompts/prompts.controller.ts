import { createHash } from 'node:crypto';
import { Body, HttpStatus } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../../platform/auth/limits/admission.js';
import { Idempotent } from '../../../platform/auth/idempotency/idempotency.js';
import { ApiEmptyResponse, ApiJsonResponse } from '../../../platform/http/api-answers.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { objectWith } from '../../../platform/json/json-text.js';
import {
  PromptCreateDto,
  PromptDeleteDto,
  PromptDto,
  PromptGetDto,
  PromptLabelsDto,
  PromptLabelsRemoveDto,
  PromptsAnswerDto,
  PromptsDeletedDto,
  PromptsQueryDto,
} from './prompts.dto.js';
import { promptJson, PromptsService } from './prompts.service.js';

@Resource('prompts', BasicAuth(), 'prompts')
export class PromptsController {
  constructor(private readonly prompts: PromptsService) {}

  /** Stores a new version of a prompt. Versions are numbered from 1. */
  @Operation('create', 'writer')
  @Idempotent()
  @ApiJsonResponse({ type: PromptDto })
  async create(@Body() body: PromptCreateDto, @Ctx() { text, caller }: Context): Promise<string> {
    const stored = await this.prompts.create(body, text, caller);
    return promptJson(body.project_id, stored);
  }

  /**
   * Reads one version of a prompt, by default that of the label `production`. With `If-None-Match`, a prompt that is
   * unchanged is answered 304.
   */
  @Operation('get', 'reader')
  @ApiJsonResponse({ type: PromptDto })
  @ApiResponse({ status: HttpStatus.NOT_MODIFIED, description: 'The prompt is unchanged.' })
  async get(@Body() query: PromptGetDto, @Ctx() context: Context): Promise<string> {
    const json = promptJson(query.project_id, await this.prompts.get(query));
    const etag = `"${createHash('sha256').update(json).digest('base64url')}"`;
    context.response.setHeader('ETag', etag);
    if (context.headers['if-none-match'] !== etag) return json;
    context.response.statusCode = HttpStatus.NOT_MODIFIED;
    return '';
  }

  /** Lists prompts by name, with the versions that match. */
  @Operation('query', 'reader')
  @ApiJsonResponse({ type: PromptsAnswerDto })
  async query(@Body() query: PromptsQueryDto): Promise<string> {
    const { prompts, total } = await this.prompts.list(query);
    const texts = prompts.map(({ last_config, ...listed }) => objectWith(listed, { last_config }));
    return `{"prompts":[${texts.join(',')}],"total":${total}}`;
  }

  /** Moves labels to a version, in one transaction. The version keeps its other labels. */
  @Operation('labels/set', 'writer')
  @Idempotent()
  @ApiJsonResponse({ type: PromptDto })
  async setLabels(@Body() body: PromptLabelsDto, @Ctx() { caller }: Context): Promise<string> {
    const stored = await this.prompts.setLabels(body, caller);
    return promptJson(body.project_id, stored);
  }

  /** Removes labels from a prompt. Labels that it does not have are ignored. */
  @Operation('labels/remove', 'writer')
  @BeyondQuotas()
  @Idempotent()
  @ApiEmptyResponse()
  async removeLabels(
    @Body() body: PromptLabelsRemoveDto,
    @Ctx() { caller }: Context,
  ): Promise<object> {
    await this.prompts.removeLabels(body, caller);
    return {};
  }

  /** Deletes one version of a prompt, or all versions. Their numbers are not used again. */
  @Operation('delete', 'writer')
  @BeyondQuotas()
  @Idempotent()
  delete(@Body() body: PromptDeleteDto, @Ctx() { caller }: Context): Promise<PromptsDeletedDto> {
    return this.prompts.delete(body, caller);
  }
}
