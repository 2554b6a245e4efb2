import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../auth/caller.js';
import { ApiError, invalidRequest } from '../common/errors.js';
import { hasOpaqueEscapes, memberSpans } from '../common/json-text.js';
import { parseRef, type Ref } from '../common/refs.js';
import { Database } from '../database/database.js';
import { ObjectsService } from '../objects/objects.service.js';
import { schemaProblem } from './annotation-schema.js';
import type {
  FeedbackCreateDto,
  FeedbackPurgeDto,
  FeedbackQueryDto,
  FeedbackReplaceDto,
} from './feedback.dto.js';
import {
  countQuery,
  deleteQuery,
  feedbackQuery,
  type FeedbackRow,
  insertQuery,
  purgeQuery,
} from './feedback.query.js';
import { addedTo, isAnnotation } from './feedback.types.js';

const MAX_PAYLOAD_BYTES = 1024 * 1024;

@Injectable()
export class FeedbackService {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectsService,
  ) {}

  /** Stores feedback and answers the row as JSON text. `text` is the body as it was sent. */
  async create(body: FeedbackCreateDto, text: string, caller: Caller): Promise<string> {
    return this.store(await this.rowOf(body, text, caller));
  }

  /**
   * All or nothing, since every element of the answer is a stored row. Rows are stored in the order of their ids, so that
   * concurrent batches wait for each other instead of deadlocking. `texts` are the elements as they were sent.
   */
  createAll(batch: FeedbackCreateDto[], texts: string[], caller: Caller): Promise<string[]> {
    return this.database.transaction(async () => {
      const rows: [number, FeedbackRow][] = [];
      for (const [i, body] of batch.entries())
        rows.push([i, await this.rowOf(body, texts[i]!, caller, `batch[${i}].`)]);
      const answers: string[] = [];
      for (const [i, row] of rows.toSorted(([, a], [, b]) => (keyOf(a) < keyOf(b) ? -1 : 1)))
        answers[i] = await this.store(row);
      return answers;
    });
  }

  /** Deletes one row, if it is still there, and stores another, in one transaction. */
  replace(body: FeedbackReplaceDto, text: string, caller: Caller): Promise<string> {
    return this.database.transaction(async () => {
      await this.database.query(deleteQuery(body.project_id, body.feedback_id));
      return this.create(body, text, caller);
    });
  }

  /** The rows of the page, and how many there are on all pages. */
  async query(request: FeedbackQueryDto): Promise<{ rows: Readable; totalCount: number }> {
    const [count] = await this.database.query<{ total_count: number }>(countQuery(request));
    const rows = await this.database.stream(feedbackQuery(request));
    return { rows, totalCount: count!.total_count };
  }

  async purge(request: FeedbackPurgeDto): Promise<void> {
    await this.database.query(purgeQuery(request));
  }

  /** `path` is where the body stands in the request. */
  private async rowOf(
    body: FeedbackCreateDto,
    text: string,
    caller: Caller,
    path = '',
  ): Promise<FeedbackRow> {
    const payload = text.slice(...memberSpans(text, 0).get('payload')!);
    const size = Buffer.byteLength(payload);
    if (size > MAX_PAYLOAD_BYTES)
      throw new ApiError(
        'too_large',
        `${path}payload holds ${size} bytes, over the limit of ${MAX_PAYLOAD_BYTES}`,
      );
    const added = addedTo(body, path);
    if (isAnnotation(body)) await this.checkValue(body, caller, path);
    return {
      id: body.id ?? uuidv7(),
      body,
      payload: withMembers(payload, added),
      isOpaque: hasOpaqueEscapes(payload),
      userName: caller.userName,
    };
  }

  private async checkValue(body: FeedbackCreateDto, caller: Caller, path: string): Promise<void> {
    const ref = parseRef(body.annotation_ref)!;
    const schema = caller.reaches(ref.projectId) ? await this.fieldSchemaOf(ref) : undefined;
    if (schema === undefined) return;
    const problem = schemaProblem(schema, (body.payload as { value: unknown }).value);
    if (problem) throw invalidRequest([{ path: `${path}payload.value`, message: problem }]);
  }

  /** The `field_schema` of the object behind a ref; undefined when it is not stored or has none. */
  private async fieldSchemaOf({ projectId, name, digest }: Ref): Promise<unknown> {
    try {
      const object = { project_id: projectId, object_id: name, digest: digest! };
      const { val } = JSON.parse(await this.objects.read(object)) as {
        val: { field_schema?: unknown } | null;
      };
      return val?.field_schema ?? undefined;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  private async store(row: FeedbackRow): Promise<string> {
    const [stored] = await this.database.query<{ json: string; is_same: boolean }>(
      insertQuery(row),
    );
    if (!stored!.is_same)
      throw new ApiError('conflict', `feedback with this id exists and differs: ${row.id}`);
    return stored!.json;
  }
}

const keyOf = ({ body, id }: FeedbackRow) => `${body.project_id}\n${id}`;

/** An object's text with more members behind the sent ones. */
function withMembers(text: string, added: object): string {
  const members = JSON.stringify(added).slice(1, -1);
  return members ? `${text.slice(0, -1)},${members}}` : text;
}
