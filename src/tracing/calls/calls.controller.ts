import { Body, Req, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import type { Request } from 'express';
import {
  BasicAuth,
  NoProjectField,
  Operation,
  Resource,
  ShortWrites,
} from '../../platform/auth/access.js';
import { Caller, CallerParam } from '../../platform/auth/caller.js';
import { Idempotency, Idempotent, IdempotentItself } from '../../platform/auth/idempotency.js';
import {
  ApiEmptyResponse,
  ApiJsonLines,
  ApiJsonResponse,
} from '../../platform/http/api-answers.js';
import { heldAnswer } from '../../platform/http/body-budget.js';
import { BodyText, bodyTextOf } from '../../platform/http/body.guard.js';
import { callerOf } from '../../platform/http/caller-of.js';
import { jsonArray, jsonLines } from '../../platform/http/json-rows.js';
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

@Resource('calls', BasicAuth())
export class CallsController {
  constructor(
    private readonly calls: CallsService,
    private readonly idempotency: Idempotency,
  ) {}

  /** Records the start of a call. May be repeated and may come after the end. */
  @Operation('call/start', 'writer')
  @ShortWrites()
  @IdempotentItself()
  start(@Body() { start }: CallStartBodyDto, @Req() request: Request): Promise<CallStartedDto> {
    const write = () => this.calls.start(start, bodyTextOf(request), callerOf(request));
    return this.idempotency.once(request, write, { isHarmless: typeof start.id === 'string' });
  }

  /** Records the end of a call. May be repeated and may come before the start. */
  @Operation('call/end', 'writer')
  @ShortWrites()
  @ApiEmptyResponse()
  async end(
    @Body() { end }: CallEndBodyDto,
    @BodyText() text: string,
    @CallerParam() caller: Caller,
  ): Promise<object> {
    await this.calls.end(end, text, caller);
    return {};
  }

  /** Records up to 10,000 starts and ends, in any order. A bad item is answered in its place, the rest is stored. */
  @Operation('call/upsert_batch', 'writer')
  @ShortWrites()
  @NoProjectField('each item names its own, which CallsService checks')
  @IdempotentItself()
  async upsertBatch(
    @Body() { batch }: UpsertBatchDto,
    @Req() request: Request,
  ): Promise<UpsertBatchAnswerDto> {
    const write = () => this.calls.upsertBatch(batch, bodyTextOf(request), callerOf(request));
    return {
      res: await this.idempotency.once(request, write, { isHarmless: hasOwnIds(batch) }),
    };
  }

  /** One call by its id; `{"call": null}` when there is none. */
  @Operation('call/read', 'reader')
  @ApiJsonResponse({ type: CallAnswerDto })
  async read(@Body() query: CallReadDto, @Req() request: Request): Promise<string> {
    return heldAnswer(request, `{"call":${(await this.calls.read(query)) ?? 'null'}}`);
  }

  /** Streams calls, one JSON object per line, by default the oldest first. */
  @Operation('calls/stream_query', 'reader')
  @ApiJsonLines(CallDto)
  async streamQuery(
    @Body() query: CallsQueryDto,
    @Req() request: Request,
  ): Promise<StreamableFile> {
    return jsonLines(await this.calls.stream(query), request);
  }

  /** The same calls as one JSON object. */
  @Operation('calls/query', 'reader')
  @ApiOkResponse({ type: CallsAnswerDto })
  async query(@Body() query: CallsQueryDto, @Req() request: Request): Promise<StreamableFile> {
    return jsonArray(await this.calls.stream(query), request, 'calls');
  }

  /** Sets the display name of a call, also of one whose start is still on its way. */
  @Operation('call/update', 'writer')
  @Idempotent()
  @ApiEmptyResponse()
  async update(@Body() body: CallUpdateDto): Promise<object> {
    await this.calls.update(body);
    return {};
  }

  /** Deletes calls together with their descendants in the same trace. */
  @Operation('calls/delete', 'writer')
  @Idempotent()
  delete(@Body() body: CallsDeleteDto, @Req() request: Request): Promise<CallsDeletedDto> {
    return this.calls.delete(body, callerOf(request));
  }
}

/** A batch in which every start has its own id changes nothing when it is sent again. */
function hasOwnIds(batch: unknown[]): boolean {
  return (batch as { mode?: unknown; req?: { start?: { id?: unknown } } }[]).every(
    (item) => item?.mode !== 'start' || typeof item.req?.start?.id === 'string',
  );
}
