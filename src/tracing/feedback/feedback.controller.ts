import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import {
  BasicAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../platform/auth/limits/admission.js';
import { AnswersInDialect } from '../../platform/auth/dialect.guard.js';
import { Idempotent } from '../../platform/auth/idempotency/idempotency.js';
import { ApiEmptyResponse, ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { assertNoneRefused } from '../../platform/errors.js';
import { jsonArray } from '../../platform/http/json-rows.js';
import { elementTexts, valueAt } from '../../platform/json/json-text.js';
import { wire } from '../../platform/http/wire-names.js';
import {
  FeedbackBatchCreatedDto,
  FeedbackBatchDto,
  FeedbackCreateDto,
  FeedbackCreatedDto,
  FeedbackFoundDto,
  FeedbackPurgeDto,
  FeedbackQueryDto,
  FeedbackReplaceDto,
} from './feedback.dto.js';
import { FeedbackService } from './feedback.service.js';
import {
  FeedbackAggregateDto,
  FeedbackAggregatedDto,
  PayloadPathsDto,
  PayloadSchemaDto,
} from './feedback-aggregate.dto.js';
import { FeedbackAggregateService } from './feedback-aggregate.service.js';
import { FeedbackStatsAnswerDto, FeedbackStatsDto } from './feedback-stats.dto.js';
import { FeedbackStatsService } from './feedback-stats.service.js';

@Resource('feedback', BasicAuth(), 'feedback')
export class FeedbackController {
  constructor(
    private readonly feedback: FeedbackService,
    private readonly feedbackStats: FeedbackStatsService,
    private readonly aggregates: FeedbackAggregateService,
  ) {}

  /** Attaches feedback to the item behind a ref. A request with its own id may be repeated. */
  @Operation('create', 'writer')
  @Idempotent({ unless: hasOwnId })
  @ApiJsonResponse({ type: FeedbackCreatedDto })
  create(@Body() body: FeedbackCreateDto, @Ctx() { text, caller }: Context): Promise<string> {
    return this.feedback.create(body, text, caller);
  }

  /**
   * Attaches up to 1000 pieces of feedback. An invalid element is refused, and the others are stored. The dialect
   * `weave` differs when all elements have their own ids: it then answers 422 with the indexes of refused elements in
   * `errors`, since the published clients do not read the body of a 200.
   */
  @Operation('batch/create', 'writer')
  @NoProjectField('each item names its own, which FeedbackService checks')
  @Idempotent({ unless: ({ batch }: FeedbackBatchDto) => batch.every(hasOwnId) })
  @ApiJsonResponse({ type: FeedbackBatchCreatedDto })
  async createAll(
    @Body() { batch }: FeedbackBatchDto,
    @Ctx() { text, caller }: Context,
  ): Promise<string> {
    const texts = elementTexts(valueAt(text, 'batch'));
    const answers = await this.feedback.createAll(batch, texts, caller);
    if (wire().scheme === 'weave' && batch.every(hasOwnId)) assertNoneRefused(batch, answers);
    const res = answers.map((answer) =>
      typeof answer === 'string' ? answer : JSON.stringify(answer),
    );
    return `{"res":[${res.join(',')}]}`;
  }

  /** Computes statistics of feedback over time: its number, and numbers, booleans and words inside its payloads. */
  @Operation('stats', 'reader')
  @ApiJsonResponse({ type: FeedbackStatsAnswerDto })
  async stats(@Body() body: FeedbackStatsDto): Promise<string> {
    return JSON.stringify(await this.feedbackStats.stats(body));
  }

  /** Sums up the tags and ratings of feedback over time, by scorer, agent or status. */
  @Operation('aggregate', 'reader')
  aggregate(@Body() body: FeedbackAggregateDto): Promise<FeedbackAggregatedDto> {
    return this.aggregates.aggregate(body);
  }

  /** Lists the paths inside payloads that `/feedback/stats` accepts, with the types of their values. */
  @Operation('payload_schema', 'reader')
  payloadSchema(@Body() body: PayloadSchemaDto): Promise<PayloadPathsDto> {
    return this.aggregates.payloadPaths(body);
  }

  /** Lists feedback of a project, by default the oldest first. `total_count` counts all pages. */
  @Operation('query', 'reader')
  @AnswersInDialect()
  @ApiOkResponse({ type: FeedbackFoundDto })
  async query(@Body() query: FeedbackQueryDto, @Ctx() context: Context): Promise<StreamableFile> {
    const { rows, totalCount } = await this.feedback.query(query);
    return jsonArray(rows, context, 'result', () => `"total_count":${totalCount}`);
  }

  /** Deletes the feedback of a project that matches a query. */
  @Operation('purge', 'writer')
  @BeyondQuotas()
  @Idempotent()
  @ApiEmptyResponse()
  async purge(@Body() body: FeedbackPurgeDto, @Ctx() { caller }: Context): Promise<object> {
    await this.feedback.purge(body, caller);
    return {};
  }

  /** Deletes one piece of feedback and creates another in its place. */
  @Operation('replace', 'writer')
  @Idempotent()
  @ApiJsonResponse({ type: FeedbackCreatedDto })
  replace(@Body() body: FeedbackReplaceDto, @Ctx() { text, caller }: Context): Promise<string> {
    return this.feedback.replace(body, text, caller);
  }
}

/** Returns true for feedback with a client's id: sending it twice changes nothing. */
function hasOwnId(feedback: unknown): boolean {
  return typeof (feedback as Partial<FeedbackCreateDto> | null)?.id === 'string';
}
