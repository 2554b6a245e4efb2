import { Injectable } from '@nestjs/common';
import { addEvent, deletionAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { ApiError } from '../../platform/errors.js';
import { readMediaType } from '../../platform/http/body.guard.js';
import type { Context } from '../../platform/http/context.js';
import { Database } from '../../platform/database/database.js';
import { TrainingJobsService } from '../jobs/training-jobs.service.js';
import { newModelProject } from '../models/models.service.js';
import { checkedId, noSuch, pageJson } from '../pages.js';
import { UploadsService } from '../trajectories/uploads.service.js';
import { RowsReader } from './rows-reader.js';
import type {
  TrainingDataCreateQueryDto,
  TrainingDataDeletedDto,
  TrainingDataDto,
  TrainingDataQueryDto,
} from './sft.dto.js';
import { DATA_URL, dataLock, dataPage, jobsOfData } from './sft.query.js';
import { TrainingData } from './training-data.entity.js';

const DATA_DELETE = deletionAction('training_data.delete');
export const JSONL = ['application/jsonl', 'application/x-ndjson', 'application/octet-stream'];

@Injectable()
export class TrainingDataService {
  constructor(
    private readonly database: Database,
    private readonly uploads: UploadsService,
    private readonly jobs: TrainingJobsService,
  ) {}

  /** Stores the body of the request, byte for byte. */
  create(query: TrainingDataCreateQueryDto, context: Context): Promise<TrainingDataDto> {
    const { caller } = context;
    const [type, charset] = readMediaType(context);
    if (!JSONL.includes(type) || charset !== 'utf-8')
      throw new ApiError(
        'unsupported_media_type',
        `the header Content-Type must be ${JSONL.join(' or ')}, in UTF-8`,
      );
    const projectId = newModelProject(query, caller);
    caller.assertReaches(projectId);
    const findProject = async () => projectId;
    return this.uploads.receiveBy(new RowsReader(), context, findProject, async (upload) => {
      await upload.staged.keep(projectId);
      const data = {
        projectId,
        id: upload.staged.id,
        numRows: upload.reader.metrics.numGroups,
        sizeBytes: String(upload.bodyBytes),
        sha256: upload.bodySha256.toString('hex'),
        userId: caller.userName,
        createdAt: new Date(),
      };
      await this.database.repository(TrainingData).insert(data);
      upload.isKept = true;
      return dataDto(data);
    });
  }

  async list(query: TrainingDataQueryDto, caller: Caller): Promise<string> {
    return pageJson(await this.database.query(dataPage(query, caller)), query.limit);
  }

  async delete(id: string, caller: Caller): Promise<TrainingDataDeletedDto> {
    const { projectId } = await this.find(id, caller);
    return this.database.transaction({ long: 'bulk' }, async () => {
      const { affected } = await this.database.repository(TrainingData).delete({ projectId, id });
      if (affected === 0) throw noSuch('training data');
      const jobs = await this.database.query(jobsOfData(projectId, DATA_URL + id));
      const job_ids = jobs.map((job) => job.id);
      await this.jobs.forget(projectId, job_ids, [id]);
      const detail = { job_ids: job_ids.slice(0, MAX_NAMED), num_jobs: job_ids.length };
      await addEvent(this.database, {
        action: DATA_DELETE,
        by: caller,
        projectId,
        target: id,
        detail,
      });
      return { job_ids };
    });
  }

  /**
   * Checks that the data exists, in the transaction that creates a job from it. A concurrent deletion has either
   * ended, or will find the job.
   */
  async assertThere({ projectId, id }: TrainingData): Promise<void> {
    const [data] = await this.database.query(dataLock(projectId, id));
    if (!data) throw noSuch('training data');
  }

  /** @throws ApiError `not_found` for unknown data, and for data outside the scopes of the key */
  async find(id: string, caller: Caller): Promise<TrainingData> {
    const where = { id: checkedId(id, 'training data') };
    const data = await this.database.repository(TrainingData).findOneBy(where);
    if (!data || !caller.reaches(data.projectId)) throw noSuch('training data');
    caller.assertReaches(data.projectId);
    return data;
  }
}

/** Largest number of jobs that an audit event names. */
const MAX_NAMED = 100;

function dataDto(data: TrainingData): TrainingDataDto {
  const { id, numRows, sizeBytes, sha256, createdAt } = data;
  const [entity, project] = data.projectId.split('/') as [string, string];
  return {
    id,
    entity,
    project,
    url: DATA_URL + id,
    num_rows: numRows,
    size_bytes: Number(sizeBytes),
    sha256,
    created_at: createdAt.toISOString().replace('Z', '000Z'),
  };
}
