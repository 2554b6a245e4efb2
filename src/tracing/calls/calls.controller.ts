import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import {
  BasicAuth,
  NoProjectField,
  Operation,
  Resource,
  ShortWrites,
} from '../../platform/auth/access-decorators.js';
import { BeyondQuotas } from '../../platform/auth/limits/admission.js';
import { AnswersInDialect } from '../../platform/auth/dialect.guard.js';
import {
  Idempotency,
  Idempotent,
  IdempotentInHandler,
} from '../../platform/auth/idempotency/idempotency.js';
import {
  ApiEmptyResponse,
  ApiJsonLines,
  ApiJsonResponse,
} from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonArray, jsonLines, jsonObject } from '../../platform/http/json-rows.js';
import { CallAnswerDto, CallDto, CallsAnswerDto } from './call.dto.js';
import {
  CallEndBodyDto,
  CallReadDto,
  CallsDeletedDto,
  CallsDeleteDto,
  CallsQueryDto,
  CallStartBodyDto,
  CallStartedDto,
  CallUpdateDto,
  UpsertBatchAnswerDto,
  UpsertBatchDto,
} from './calls.dto.js';
import { CallsService } from './calls.service.js';
import { CallLists } from './read/call-lists.service.js';

@Resource('calls', BasicAuth())
export class CallsController {
  constructor(
    private readonly calls: CallsService,
    private readonly lists: CallLists,
    private readonly idempotency: Idempotency,
  ) {}

  /** Records the start of a call. May be repeated and may come after the end. */
  @Operation('call/start', 'writer')
  @ShortWrites()
  @IdempotentInHandler()
  start(@Body() { start }: CallStartBodyDto, @Ctx() context: Context): Promise<CallStartedDto> {
    const write = () => this.calls.start(start, context.text, context.caller);
    return this.idempotency.once(context, write, { isHarmless: typeof start.id === 'string' });
  }

  /** Records the end of a call. May be repeated and may come before the start. */
  @Operation('call/end', 'writer')
  @ShortWrites()
  @ApiEmptyResponse()
  async end(@Body() { end }: CallEndBodyDto, @Ctx() { text, caller }: Context): Promise<object> {
    await this.calls.end(end, text, caller);
    return {};
  }

  /**
   * Records up to 10,000 starts and ends, in any order. An invalid item gets an error at its place in the answer; the
   * other items are stored.
   */
  @Operation('call/upsert_batch', 'writer')
  @ShortWrites()
  @NoProjectField('each item names its own, which CallsService checks')
  @IdempotentInHandler()
  async upsertBatch(
    @Body() { batch }: UpsertBatchDto,
    @Ctx() context: Context,
  ): Promise<UpsertBatchAnswerDto> {
    const write = () => this.calls.upsertBatch(batch, context.text, context.caller);
    return {
      res: await this.idempotency.once(context, write, { isHarmless: hasOwnIds(batch) }),
    };
  }

  /** Returns one call by its id, or `{"call": null}` if no call has this id. */
  @Operation('call/read', 'reader')
  @AnswersInDialect()
  @ApiJsonResponse({ type: CallAnswerDto })
  async read(
    @Body() query: CallReadDto,
    @Ctx() context: Context,
  ): Promise<string | StreamableFile> {
    const call = await this.calls.read(query, context);
    return jsonObject(call ?? Buffer.from('null'), context, 'call');
  }

  /** Streams calls, one JSON object per line. By default the oldest call is first. */
  @Operation('calls/stream_query', 'reader')
  @AnswersInDialect()
  @ApiJsonLines(CallDto)
  async streamQuery(
    @Body() query: CallsQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonLines(await this.lists.stream(query), context);
  }

  /** Returns the calls of `/calls/stream_query` as one JSON object. */
  @Operation('calls/query', 'reader')
  @AnswersInDialect()
  @ApiOkResponse({ type: CallsAnswerDto })
  async query(@Body() query: CallsQueryDto, @Ctx() context: Context): Promise<StreamableFile> {
    return jsonArray(await this.lists.stream(query), context, 'calls');
  }

  /** Sets the display name of a call. The start of the call may arrive later. */
  @Operation('call/update', 'writer')
  @Idempotent()
  @ApiEmptyResponse()
  async update(@Body() body: CallUpdateDto): Promise<object> {
    await this.calls.update(body);
    return {};
  }

  /** Deletes calls together with their descendants in the same trace. */
  @Operation('calls/delete', 'writer')
  @BeyondQuotas()
  @Idempotent()
  delete(@Body() body: CallsDeleteDto, @Ctx() { caller }: Context): Promise<CallsDeletedDto> {
    return this.calls.delete(body, caller);
  }
}

/** Returns true if every start in the batch has its own id. Sending the batch again then changes nothing. */
function hasOwnIds(batch: unknown[]): boolean {
  return (batch as { mode?: unknown; req?: { start?: { id?: unknown } } }[]).every(
    (item) => item?.mode !== 'start' || typeof item.req?.start?.id === 'string',
  );
}
