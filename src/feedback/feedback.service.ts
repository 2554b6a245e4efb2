import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../auth/caller.js';
import { ApiError, invalidRequest } from '../common/errors.js';
import { hasOpaqueEscapes, memberSpans } from '../common/json-text.js';
import { parseRef } from '../common/refs.js';
import { Database } from '../database/database.js';
import { STATEMENT_MS } from '../database/limits.js';
import { ObjectsService } from '../objects/objects.service.js';
import { firstProblem, type Judged } from './annotation-schema.js';
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

/** Feedback as it was sent, and where it stands in the request. */
interface Sent {
  body: FeedbackCreateDto;
  text: string;
  path: string;
}

@Injectable()
export class FeedbackService {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectsService,
  ) {}

  /** Stores feedback and answers the row as JSON text. `text` is the body as it was sent. */
  async create(body: FeedbackCreateDto, text: string, caller: Caller): Promise<string> {
    const [row] = await this.rowsOf([{ body, text, path: '' }], caller);
    return this.store(row!);
  }

  /**
   * All or nothing, since every element of the answer is a stored row. Rows are stored in the order of their ids, so that
   * concurrent batches wait for each other instead of deadlocking. `texts` are the elements as they were sent.
   */
  async createAll(batch: FeedbackCreateDto[], texts: string[], caller: Caller): Promise<string[]> {
    const sent = batch.map((body, i) => ({ body, text: texts[i]!, path: `batch[${i}].` }));
    const rows = [...(await this.rowsOf(sent, caller)).entries()];
    return this.database.long(async () => {
      const answers: string[] = [];
      for (const [i, row] of rows.toSorted(([, a], [, b]) => (keyOf(a) < keyOf(b) ? -1 : 1)))
        answers[i] = await this.store(row);
      return answers;
    });
  }

  /** Deletes one row, if it is still there, and stores another, in one transaction. */
  async replace(body: FeedbackReplaceDto, text: string, caller: Caller): Promise<string> {
    const [row] = await this.rowsOf([{ body, text, path: '' }], caller);
    return this.database.transaction(async () => {
      await this.database.query(deleteQuery(body.project_id, body.feedback_id));
      return this.store(row!);
    });
  }

  /** The rows of the page, and how many there are on all pages. */
  async query(request: FeedbackQueryDto): Promise<{ rows: Readable; totalCount: number }> {
    const [count] = await this.database.long(() =>
      this.database.query<{ total_count: number }>(countQuery(request)),
    );
    const rows = await this.database.stream(feedbackQuery(request));
    return { rows, totalCount: count!.total_count };
  }

  async purge(request: FeedbackPurgeDto): Promise<void> {
    await this.database.long(() => this.database.query(purgeQuery(request)), STATEMENT_MS.bulk);
  }

  /** The rows to be stored. All of them are judged, before a transaction holds a connection. */
  private async rowsOf(sent: readonly Sent[], caller: Caller): Promise<FeedbackRow[]> {
    const rows = sent.map((one) => rowOf(one, caller));
    await this.checkValues(
      sent.filter(({ body }) => isAnnotation(body)),
      caller,
    );
    return rows;
  }

  private async checkValues(annotations: readonly Sent[], caller: Caller): Promise<void> {
    const schemas = new Map<string, unknown>();
    const judged: (Judged & Sent)[] = [];
    for (const sent of annotations) {
      const ref = sent.body.annotation_ref!;
      if (!schemas.has(ref)) schemas.set(ref, await this.fieldSchemaOf(ref, caller));
      const schema = schemas.get(ref);
      if (schema === undefined) continue;
      judged.push({ ...sent, schema, value: (sent.body.payload as { value: unknown }).value });
    }
    const problem = firstProblem(judged);
    if (!problem) return;
    const { at, message } = problem;
    throw invalidRequest([{ path: `${judged[at]!.path}payload.value`, message }]);
  }

  /** The `field_schema` of the object behind a ref; undefined when it is not stored, out of the caller's reach or has none. */
  private async fieldSchemaOf(ref: string, caller: Caller): Promise<unknown> {
    const { projectId, name, digest } = parseRef(ref)!;
    if (!caller.reaches(projectId)) return undefined;
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

/** The row of feedback that keeps the rules of its type. */
function rowOf({ body, text, path }: Sent, { userName }: Caller): FeedbackRow {
  const payload = text.slice(...memberSpans(text, 0).get('payload')!);
  const size = Buffer.byteLength(payload);
  if (size > MAX_PAYLOAD_BYTES)
    throw new ApiError(
      'too_large',
      `${path}payload holds ${size} bytes, over the limit of ${MAX_PAYLOAD_BYTES}`,
    );
  return {
    id: body.id ?? uuidv7(),
    body,
    payload: withMembers(payload, addedTo(body, path)),
    isOpaque: hasOpaqueEscapes(payload),
    userName,
  };
}

const keyOf = ({ body, id }: FeedbackRow) => `${body.project_id}\n${id}`;

/** An object's text with more members behind the sent ones. */
function withMembers(text: string, added: object): string {
  const members = JSON.stringify(added).slice(1, -1);
  return members ? `${text.slice(0, -1)},${members}}` : text;
}
