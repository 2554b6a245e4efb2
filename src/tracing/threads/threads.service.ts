import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import type { ThreadsQueryDto } from './threads.dto.js';
import { threadsQuery } from './threads.query.js';

/** Number of rows in the first batch. A thread has some hundred bytes. */
const SMALL_ROWS = 64;

@Injectable()
export class ThreadsService {
  constructor(private readonly database: Database) {}

  stream(query: ThreadsQueryDto): Promise<Readable> {
    return this.database.stream(threadsQuery(query), { firstBatch: SMALL_ROWS });
  }
}
