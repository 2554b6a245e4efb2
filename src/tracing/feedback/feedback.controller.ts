import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import {
  BasicAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { AnswersInDialect } from '../../platform/auth/dialect.guard.js';
import { Idempotent } from '../../platform/auth/idempotency.js';
import { ApiEmptyResponse, ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { assertNoneRefused } from '../../platform/errors.js';
import { jsonArray } from '../../platform/http/json-rows.js';
import { elementSpans, valueAt } from '../../platform/json/json-text.js';
import { WIRE } from '../../platform/http/wire-names.js';
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

  /** Attaches feedback to the item behind a ref. With an id of the client's own it may be repeated. */
  @Operation('create', 'writer')
  @Idempotent({ unless: hasOwnId })
  @ApiJsonResponse({ type: FeedbackCreatedDto })
  create(@Body() body: FeedbackCreateDto, @Ctx() { text, caller }: Context): Promise<string> {
    return this.feedback.create(body, text, caller);
  }

  /**
   * Attaches up to 1000 pieces of feedback. A bad one is refused in its place, the rest is stored. In the dialect `weave`, if all
   * have ids of their own, the answer is then 422 with their places in `errors`: the published clients read nothing of a 200.
   */
  @Operation('batch/create', 'writer')
  @NoProjectField('each item names its own, which FeedbackService checks')
  @Idempotent({ unless: ({ batch }: FeedbackBatchDto) => batch.every(hasOwnId) })
  @ApiJsonResponse({ type: FeedbackBatchCreatedDto })
  async createAll(
    @Body() { batch }: FeedbackBatchDto,
    @Ctx() { text, caller }: Context,
  ): Promise<string> {
    const list = valueAt(text, 'batch');
    const texts = elementSpans(list, 0).map((span) => list.slice(...span));
    const answers = await this.feedback.createAll(batch, texts, caller);
    if (WIRE.scheme === 'weave' && batch.every(hasOwnId)) assertNoneRefused(batch, answers);
    const res = answers.map((answer) =>
      typeof answer === 'string' ? answer : JSON.stringify(answer),
    );
    return `{"res":[${res.join(',')}]}`;
  }

  /** What feedback said over time: how much there was, and numbers, booleans and words inside of its payloads. */
  @Operation('stats', 'reader')
  @ApiJsonResponse({ type: FeedbackStatsAnswerDto })
  async stats(@Body() body: FeedbackStatsDto): Promise<string> {
    return JSON.stringify(await this.feedbackStats.stats(body));
  }

  /** Adds up the tags and ratings of feedback over time, by scorer, agent or status. */
  @Operation('aggregate', 'reader')
  aggregate(@Body() body: FeedbackAggregateDto): Promise<FeedbackAggregatedDto> {
    return this.aggregates.aggregate(body);
  }

  /** The paths inside of payloads that `/feedback/stats` may be asked for, and what stands there. */
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

  /** Deletes the feedback of a project that a query holds for. */
  @Operation('purge', 'writer')
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

/** The second one of an id changes nothing. */
function hasOwnId(feedback: unknown): boolean {
  return typeof (feedback as Partial<FeedbackCreateDto> | null)?.id === 'string';
}
