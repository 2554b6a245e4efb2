import {
  Body,
  Delete,
  Get,
  Header,
  HttpCode,
  HttpStatus,
  Injectable,
  Param,
  Patch,
  type PipeTransform,
  Post,
  Query,
  UseFilters,
} from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiParam } from '@nestjs/swagger';
import {
  Allow,
  BasicAuth,
  NoProjectField,
  Resource,
} from '../../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../../platform/auth/limits/admission.js';
import { ApiJsonResponse } from '../../../platform/http/api-answers.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { QueryPipe } from '../../../platform/http/query.pipe.js';
import { assertValid } from '../../../platform/http/validation.js';
import { objectWith } from '../../../platform/json/json-text.js';
import { PromptsService } from '../../../tracing/objects/prompts/prompts.service.js';
import type { StoredPrompt } from '../../../tracing/objects/prompts/prompts-reader.service.js';
import { LangfuseErrorFilter } from '../langfuse.filter.js';
import { projectInScope } from '../project-in-scope.js';
import {
  LangfusePromptCreateDto,
  LangfusePromptDto,
  LangfusePromptGetDto,
  LangfusePromptLabelsDto,
  LangfusePromptPathDto,
  LangfusePromptsDto,
  LangfusePromptsQueryDto,
  LangfusePromptVersionPathDto,
  LangfusePromptWordDto,
} from './langfuse-prompts.dto.js';

/** Joins the rest of a path to a name, because some clients send its slashes as they are. */
@Injectable()
class NamePipe implements PipeTransform {
  transform(parts: string | string[]): string {
    const name = [parts].flat().join('/');
    assertValid(LangfusePromptPathDto, { name });
    return name;
  }
}

@Injectable()
class VersionPipe implements PipeTransform {
  transform(text: string): number {
    const version = Number(text);
    assertValid(LangfusePromptVersionPathDto, { version });
    return version;
  }
}

const NAME = 'name';
const ApiName = () =>
  ApiParam({ name: NAME, type: 'string', description: 'The name. It may have slashes.' });

/** Serves prompts to the SDKs of Langfuse. They are those of `/prompts/…`. */
@NoProjectField('a header or the public key names it, which projectInScope checks')
@UseFilters(LangfuseErrorFilter)
@Resource('langfuse', BasicAuth(), 'api/public/v2/prompts')
export class LangfusePromptsController {
  constructor(private readonly prompts: PromptsService) {}

  /** Stores a new version of a prompt. */
  @Post()
  @Allow('writer')
  @Header('Content-Type', 'application/json; charset=utf-8')
  @ApiCreatedResponse({ type: LangfusePromptDto })
  async create(@Body() body: LangfusePromptCreateDto, @Ctx() context: Context): Promise<string> {
    const project_id = projectInScope(context);
    const { commitMessage: commit_message, ...rest } = body;
    const request = { ...rest, project_id, commit_message };
    const stored = await this.prompts.create(request, context.text, context.caller);
    return promptText(project_id, stored);
  }

  /** Lists prompts by name. */
  @Get()
  @Allow('reader')
  @ApiJsonResponse({ type: LangfusePromptsDto })
  async list(
    @Query(QueryPipe) query: LangfusePromptsQueryDto,
    @Ctx() context: Context,
  ): Promise<string> {
    const { fromUpdatedAt: from, toUpdatedAt: to, page = 1, limit = 10, ...filters } = query;
    const { prompts, total: totalItems } = await this.prompts.list({
      ...filters,
      from,
      to,
      limit,
      project_id: projectInScope(context),
      offset: (page - 1) * limit,
    });
    const meta = { page, limit, totalItems, totalPages: Math.ceil(totalItems / limit) };
    const data = prompts.map(
      ({ name, type, versions, labels, tags, last_updated_at: lastUpdatedAt, last_config }) =>
        objectWith(
          { name, type, versions, labels, tags, lastUpdatedAt },
          { lastConfig: last_config },
        ),
    );
    return `{"data":[${data.join(',')}],"meta":${JSON.stringify(meta)}}`;
  }

  /** Reads one version of a prompt, by default that of the label `production`. */
  @Get(`*${NAME}`)
  @Allow('reader')
  @ApiName()
  @ApiJsonResponse({ type: LangfusePromptDto })
  async get(
    @Param(NAME, NamePipe) name: string,
    @Query(QueryPipe) query: LangfusePromptGetDto,
    @Ctx() context: Context,
  ): Promise<string> {
    const project_id = projectInScope(context);
    const { version, label, resolve } = query;
    const asked = { project_id, name, version, label, resolve: resolve !== 'false' };
    const stored = await this.prompts.get(asked);
    context.response.setHeader('Cache-Control', 'no-store');
    return promptText(project_id, stored);
  }

  /** Moves labels to a version. It keeps its other labels. */
  @Patch(`*${NAME}/versions/:version`)
  @Allow('writer')
  @ApiName()
  @ApiJsonResponse({ type: LangfusePromptDto })
  async setLabels(
    @Param(NAME, NamePipe) name: string,
    @Param('version', VersionPipe) version: number,
    @Body() { newLabels: labels }: LangfusePromptLabelsDto,
    @Ctx() context: Context,
  ): Promise<string> {
    const project_id = projectInScope(context);
    const stored = await this.prompts.setLabels(
      { project_id, name, version, labels },
      context.caller,
    );
    return promptText(project_id, stored);
  }

  /** Deletes one version of a prompt, or all. */
  @Delete(`*${NAME}`)
  @Allow('writer')
  @BeyondQuotas()
  @ApiName()
  @HttpCode(HttpStatus.NO_CONTENT)
  @ApiNoContentResponse()
  async delete(
    @Param(NAME, NamePipe) name: string,
    @Query(QueryPipe) { version, label }: LangfusePromptWordDto,
    @Ctx() context: Context,
  ): Promise<void> {
    const project_id = projectInScope(context);
    await this.prompts.delete({ project_id, name, version, label }, context.caller);
  }
}

function promptText(projectId: string, stored: StoredPrompt): string {
  const { name, type, version, labels, tags, created_at, commit_message, digest } = stored;
  const members = {
    id: digest,
    projectId,
    name,
    type,
    version,
    labels,
    tags,
    commitMessage: commit_message,
    createdAt: created_at,
    updatedAt: created_at,
    resolutionGraph: null,
  };
  return objectWith(members, { prompt: stored.prompt, config: stored.config });
}
