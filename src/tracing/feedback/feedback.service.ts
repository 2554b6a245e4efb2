import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { Any, IsNull } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { addEvent, deletionAction } from '../../platform/audit/add-event.js';
import { assertNotHeld } from '../../platform/audit/legal-holds.js';
import type { Caller } from '../../platform/auth/caller.js';
import { ApiError, invalidRequest, type RefusedItem, refusedItem } from '../../platform/errors.js';
import { hasOpaqueEscapes, MAX_DEPTH, skipValue } from '../../platform/json/json-grammar.js';
import { memberSpans, valueAt } from '../../platform/json/json-text.js';
import { parseRef } from '../../platform/http/refs.js';
import { assertValid } from '../../platform/http/validation.js';
import { groupBy } from '../../platform/query/grouping.js';
import { Database } from '../../platform/database/database.js';
import { ByteRows } from '../../platform/database/row-stream.js';
import { sql } from '../../platform/query/sql.js';
import { AnnotationQueue } from '../annotation/annotation-queue.entity.js';
import { feedbackOfHold } from '../held-parts.query.js';
import { ObjectsService } from '../objects/objects.service.js';
import { validateAnnotations } from './annotation-validator.js';
import type { AnnotationValues } from './annotation-schema.js';
import {
  FeedbackCreateDto,
  type FeedbackPurgeDto,
  type FeedbackQueryDto,
  FeedbackReplaceDto,
} from './feedback.dto.js';
import {
  countQuery,
  feedbackQuery,
  type NewFeedback,
  insertQuery,
  lockQuery,
  mergeableQuery,
  type MergeableFeedback,
  purgedFeedback,
  purgeQuery,
  replacedDelete,
} from './feedback.query.js';
import { FEEDBACK } from './feedback.entity.js';
import { serverMembers, isAnnotation } from './feedback-rules.js';

export type { MergeableFeedback };

const FEEDBACK_REPLACE = deletionAction('feedback.replace');
const FEEDBACK_PURGE = deletionAction('feedback.purge');

export const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** Limits of an object with an annotation's schema, and of the schema. Compiling takes far longer than reading. */
const MAX_SCHEMA_OBJECT_BYTES = 1024 * 1024;
const MAX_SCHEMA_LENGTH = 128 * 1024;
const MAX_SCHEMA_DEPTH = 100;
const NO_SCHEMA = -1;

/** Feedback as it was sent, with its position in the request. */
interface SentFeedback {
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

  /** Stores feedback and returns the row as JSON text. `text` is the request body as it was sent. */
  async create(body: FeedbackCreateDto, text: string, caller: Caller): Promise<string> {
    return this.store(await this.judgedRow({ body, text, path: '' }, caller));
  }

  /**
   * Stores the valid elements, and returns a result for each element at its index. Rows are stored in the order of
   * their ids, so that concurrent batches wait for each other instead of deadlocking. `texts` are the elements as they
   * were sent.
   */
  async createAll(
    batch: unknown[],
    texts: string[],
    caller: Caller,
  ): Promise<(string | RefusedItem)[]> {
    const answers: (string | RefusedItem)[] = [];
    const refuse = (i: number, error: unknown) => {
      answers[i] = refusedItem(error);
    };
    const rows = new Map<SentFeedback, NewFeedback>();
    const places = new Map<SentFeedback, number>();
    for (const [i, item] of batch.entries()) {
      const path = `batch[${i}].`;
      try {
        assertValid(FeedbackCreateDto, item, path.slice(0, -1));
        const sent = { body: item as FeedbackCreateDto, text: texts[i]!, path };
        caller.assertReaches(sent.body.project_id);
        rows.set(sent, feedbackRow(sent, caller));
        places.set(sent, i);
      } catch (error) {
        refuse(i, error);
      }
    }
    for (const [sent, error] of await this.refused([...rows.keys()], caller)) {
      refuse(places.get(sent)!, error);
      rows.delete(sent);
    }
    const sorted = [...rows].toSorted(([, a], [, b]) => (rowKey(a) < rowKey(b) ? -1 : 1));
    await this.database.transaction({ long: 'read' }, async () => {
      for (const [sent, row] of sorted) {
        const i = places.get(sent)!;
        try {
          answers[i] = await this.store(row);
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          refuse(i, error);
        }
      }
    });
    return answers;
  }

  /**
   * Deletes one row, if it exists, and stores another in the same transaction. Without its own id the new row takes the
   * id of the old one. So one row remains, however many requests replace it at the same time.
   */
  async replace(body: FeedbackReplaceDto, text: string, caller: Caller): Promise<string> {
    const made = await this.judgedRow({ body, text, path: '' }, caller);
    const row = { ...made, id: body.id ?? body.feedback_id };
    return this.database.transaction(
      { lock: lockQuery(body.project_id, body.feedback_id) },
      async () => {
        await caller.assertValid();
        return this.replaceRow(row, body.feedback_id, caller);
      },
    );
  }

  private async replaceRow(row: NewFeedback, oldId: string, caller: Caller): Promise<string> {
    const projectId = row.body.project_id;
    const [old] = await this.database.query(replacedDelete(projectId, oldId));
    if (old) {
      const rows = sql`(SELECT ${old.ref}::text AS ref) f WHERE TRUE`;
      await assertNotHeld(this.database, projectId, feedbackOfHold(projectId, rows));
      await addEvent(this.database, {
        action: FEEDBACK_REPLACE,
        by: caller,
        projectId,
        target: oldId,
        detail: { by: row.id },
      });
    }
    return this.store(row);
  }

  /**
   * Refuses everything that `put` refuses, and stores nothing.
   * @throws ApiError
   */
  async assertMayPut(text: string, caller: Caller): Promise<void> {
    const body = JSON.parse(text) as FeedbackReplaceDto;
    assertValid(FeedbackReplaceDto, body);
    await this.judgedRow({ body, text, path: '' }, caller);
  }

  /**
   * Calls `replace` for other features. `text` is a `FeedbackReplaceDto`.
   * @throws ApiError
   */
  async put(text: string, caller: Caller): Promise<string> {
    return this.replace(readReplace(text, caller), text, caller);
  }

  /**
   * Replaces a row by events that change earlier ones. `merge` returns the new text for the stored row, or null to
   * leave it unchanged.
   * @throws ApiError
   */
  async putMerged(
    text: string,
    caller: Caller,
    merge: (stored: MergeableFeedback | undefined) => { text: string; eventTimes: string } | null,
  ): Promise<void> {
    const body = readReplace(text, caller);
    const { project_id, feedback_id } = body;
    await this.judgedRow({ body, text, path: '' }, caller);
    await this.database.transaction({ lock: lockQuery(project_id, feedback_id) }, async () => {
      await caller.assertValid();
      const [stored] = await this.database.query(mergeableQuery(project_id, feedback_id));
      const merged = merge(stored);
      if (!merged) return;
      const sent: SentFeedback = { body: JSON.parse(merged.text), text: merged.text, path: '' };
      const row = { ...feedbackRow(sent, caller), id: feedback_id, eventTimes: merged.eventTimes };
      await this.replaceRow(row, feedback_id, caller);
    });
  }

  /** Returns the rows of a page, and the number of rows on all pages. */
  async query(request: FeedbackQueryDto): Promise<{ rows: Readable; totalCount: number }> {
    const [count] = await this.database.query(countQuery(request), { long: 'read' });
    return { rows: await this.stream(request), totalCount: count!.total_count };
  }

  stream(request: FeedbackQueryDto): Promise<Readable> {
    return this.database.stream(feedbackQuery(request), { rows: new ByteRows() });
  }

  async purge(request: FeedbackPurgeDto, by: Caller): Promise<void> {
    await this.database.transaction({ long: 'bulk' }, async () => {
      const { project_id: projectId } = request;
      const isHit = feedbackOfHold(projectId, purgedFeedback(request));
      await assertNotHeld(this.database, projectId, isHit);
      const [row] = await this.database.query(purgeQuery(request));
      const { num_purged } = row!;
      this.database.changes.note(projectId, FEEDBACK);
      if (num_purged > 0)
        await addEvent(this.database, {
          action: FEEDBACK_PURGE,
          by,
          projectId,
          detail: { num_purged },
        });
    });
  }

  /** Returns the validated row. Validation happens before a transaction holds a connection. */
  private async judgedRow(sent: SentFeedback, caller: Caller): Promise<NewFeedback> {
    const row = feedbackRow(sent, caller);
    const refused = await this.refused([sent], caller);
    if (refused.size > 0) throw refused.get(sent);
    return row;
  }

  /** Returns feedback with an unknown queue or with a value that its schema refuses, and the errors. */
  private async refused(
    sent: readonly SentFeedback[],
    caller: Caller,
  ): Promise<Map<SentFeedback, unknown>> {
    const unqueued = await this.unqueued(sent);
    const rest = sent.filter((one) => !unqueued.has(one));
    return new Map([...unqueued, ...(await this.refusedValues(rest, caller))]);
  }

  private async unqueued(sent: readonly SentFeedback[]): Promise<Map<SentFeedback, unknown>> {
    const refused = new Map<SentFeedback, unknown>();
    const queued = sent.filter(({ body }) => typeof body.queue_id === 'string');
    for (const [projectId, list] of groupBy(queued, ({ body }) => body.project_id)) {
      const ids = list.map(({ body }) => body.queue_id!);
      const found = await this.database
        .repository(AnnotationQueue)
        .find({ select: { id: true }, where: { projectId, id: Any(ids), deletedAt: IsNull() } });
      const known = new Set(found.map(({ id }) => id));
      for (const one of list.filter(({ body }) => !known.has(body.queue_id!)))
        refused.set(
          one,
          invalidRequest([
            {
              path: `${one.path}queue_id`,
              message: 'must name an annotation queue of the project',
            },
          ]),
        );
    }
    return refused;
  }

  /** Returns annotations whose values their schemas refuse, and the errors. */
  private async refusedValues(
    sent: readonly SentFeedback[],
    caller: Caller,
  ): Promise<Map<SentFeedback, unknown>> {
    const refused = new Map<SentFeedback, unknown>();
    const schemas = new Map<string, number>();
    const all: AnnotationValues = { schemas: [], values: [] };
    const judgedOnes: SentFeedback[] = [];
    for (const one of sent.filter(({ body }) => isAnnotation(body))) {
      const { body, text, path } = one;
      const ref = body.annotation_ref!;
      try {
        let schema = schemas.get(ref);
        if (schema === undefined) {
          const found = await this.findFieldSchema(ref, `${path}annotation_ref`);
          schema = found === undefined ? NO_SCHEMA : all.schemas.push(found) - 1;
          schemas.set(ref, schema);
        }
        if (schema === NO_SCHEMA) continue;
        all.values.push({ schema, text: valueAt(text, 'payload', 'value') });
        judgedOnes.push(one);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        refused.set(one, error);
      }
    }
    for (const { at, message } of await validateAnnotations(all, caller.owner)) {
      const one = judgedOnes[at]!;
      refused.set(one, invalidRequest([{ path: `${one.path}payload.value`, message }]));
    }
    return refused;
  }

  /**
   * Reads the text of the `field_schema` of the object behind a ref. Undefined when the object is not stored or has
   * none. `path` is the position of the ref in the request.
   * @throws ApiError `too_large`
   */
  private async findFieldSchema(ref: string, path: string): Promise<string | undefined> {
    const { projectId, name, digest } = parseRef(ref)!;
    const object = { project_id: projectId, object_id: name, digest: digest! };
    const val = await this.objects.valueUpTo(object, MAX_SCHEMA_OBJECT_BYTES);
    if (val === null)
      throw new ApiError(
        'too_large',
        `${path} names an object over the limit of ${MAX_SCHEMA_OBJECT_BYTES} bytes`,
      );
    const schema = val?.startsWith('{') ? memberText(val, 'field_schema') : undefined;
    if (schema === undefined || schema === 'null') return undefined;
    assertSchemaFits(schema, path);
    return schema;
  }

  private async store(row: NewFeedback): Promise<string> {
    const [stored] = await this.database.query(insertQuery(row));
    if (!stored!.is_same)
      throw new ApiError('conflict', `feedback with this id exists and differs: ${row.id}`);
    this.database.changes.note(row.body.project_id, FEEDBACK);
    return stored!.json;
  }
}

/** @throws ApiError */
function readReplace(text: string, caller: Caller): FeedbackReplaceDto {
  const body = JSON.parse(text) as FeedbackReplaceDto;
  assertValid(FeedbackReplaceDto, body);
  caller.assertReaches(body.project_id);
  return body;
}

function memberText(object: string, name: string): string | undefined {
  const span = memberSpans(object, 0).get(name);
  return span && object.slice(...span);
}

function assertSchemaFits(schema: string, path: string): void {
  if (schema.length > MAX_SCHEMA_LENGTH)
    throw new ApiError(
      'too_large',
      `the field_schema that ${path} names holds ${schema.length} characters, over the limit of ${MAX_SCHEMA_LENGTH}`,
    );
  try {
    skipValue(schema, 0, MAX_DEPTH - MAX_SCHEMA_DEPTH);
  } catch {
    const message = `names a field_schema that is nested deeper than ${MAX_SCHEMA_DEPTH} levels`;
    throw invalidRequest([{ path, message }]);
  }
}

/**
 * Builds the row of feedback, validated by the rules of its type.
 * @throws ApiError
 */
function feedbackRow({ body, text, path }: SentFeedback, { userName }: Caller): NewFeedback {
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
    payload: withMembers(payload, serverMembers(body, path)),
    isOpaque: hasOpaqueEscapes(payload),
    userName,
  };
}

const rowKey = ({ body, id }: NewFeedback) => `${body.project_id}\n${id}`;

/** Appends members to an object's text. */
function withMembers(text: string, added: object): string {
  const members = JSON.stringify(added).slice(1, -1);
  return members ? `${text.slice(0, -1)},${members}}` : text;
}
