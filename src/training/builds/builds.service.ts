import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { Idempotency } from '../../platform/auth/idempotency.js';
import type { Context } from '../../platform/http/context.js';
import { ApiError } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { STATEMENT_MS } from '../../platform/database/limits.js';
import { Slots } from '../../platform/database/slots.js';
import { Packer } from './build-bytes.js';
import { Builder, BUILDER_VERSION, type Built, type BuildPlan } from './builder.js';
import type {
  BuildCreatedDto,
  BuildCreateDto,
  BuildPreviewDto,
  BuildsQueryDto,
} from './builds.dto.js';
import {
  buildInsert,
  buildsQuery,
  chunkInsert,
  inputsInsert,
  manifestQuery,
  unitsInsert,
} from './builds.query.js';
import { lintFailed } from './lints.js';
import { type KnownRecipe, RecipesService } from './recipes.service.js';
import { latestStepQuery, SNAPSHOT } from './units.query.js';
import { BUILDS } from './build.entity.js';

/** Samples that a preview shows, together. */
const MAX_SAMPLE_BYTES = 8 * 1024 * 1024;
const SAMPLES = 3;
/** Builds and previews of a process under way: each holds a group, and what is known of its units. */
const AT_ONCE = 3;

/** Makes builds of recorded calls, and hands them to trainers. */
@Injectable()
export class BuildsService {
  private readonly slots = new Slots(AT_ONCE);

  constructor(
    private readonly database: Database,
    private readonly builder: Builder,
    private readonly recipes: RecipesService,
    private readonly idempotency: Idempotency,
  ) {}

  /** Previews a build, as JSON text. Stores nothing. */
  async preview(body: BuildPreviewDto, context: Context): Promise<string> {
    const { project_id: projectId, samples: wanted } = body;
    const known = await this.recipes.find(body);
    const samples: string[] = [];
    let room = MAX_SAMPLE_BYTES;
    const take: BuildPlan['take'] = async ({ line }) => {
      const bytes = line.reduce((sum, { length }) => sum + length, 0);
      if (samples.length >= (wanted ?? SAMPLES) || bytes > room) return;
      room -= bytes;
      samples.push(Buffer.concat(line).toString('utf8').trimEnd());
    };
    const plan = { projectId, ...known, take, goOn: () => stillThere(context) };
    const { as_of, counts, lints, hint, facts, digest } = await this.inSnapshot(
      async () => this.builder.build({ ...plan, untrained: await this.findUntrained(body, known) }),
      this.database.readMs,
    );
    const { rewards, ...others } = facts;
    const answer = JSON.stringify({ as_of, counts, rewards, facts: others, lints, hint, digest });
    return `${answer.slice(0, -1)},"samples":[${samples.join(',')}]}`;
  }

  /** Makes a build and keeps it. */
  async create(body: BuildCreateDto, context: Context): Promise<BuildCreatedDto> {
    return this.idempotency.once(context, () => this.createNow(body, context), {
      transaction: (run) => this.inSnapshot(run, STATEMENT_MS.bulk),
    });
  }

  private createNow(body: BuildCreateDto, context: Context): Promise<BuildCreatedDto> {
    return this.inSnapshot(async () => {
      const { project_id: projectId } = body;
      const known = await this.recipes.find(body);
      const id = uuidv7();
      const packer = new Packer(async (chunk) => {
        await this.database.query(chunkInsert(projectId, id, chunk));
      });
      let groups = 0;
      const take: BuildPlan['take'] = async (group) => {
        await packer.add(group.line, group.split);
        await this.database.query(unitsInsert(projectId, id, groups++, group));
        await this.database.query(inputsInsert(projectId, id, group.inputs));
      };
      const untrained = await this.findUntrained(body, known);
      const goOn = () => stillThere(context);
      const built = await this.builder.build({ projectId, ...known, untrained, take, goOn });
      await packer.flush();
      refuse(built, body);
      const manifestDigest = await this.manifestDigest(projectId, id);
      await this.database.query(
        buildInsert({
          projectId,
          id,
          recipeName: known.name!,
          recipeDigest: known.digest!,
          recipe: known.text,
          counts: JSON.stringify(built.counts),
          lints: JSON.stringify(built.lints),
          facts: JSON.stringify(built.facts),
          mode: body.mode,
          builderVersion: BUILDER_VERSION,
          asOf: built.as_of,
          digest: built.digest,
          manifestDigest,
          numChunks: packer.seq,
          userId: context.caller.userName,
        }),
      );
      this.database.note(projectId, BUILDS);
      const { as_of, digest, counts, lints } = built;
      return { build_id: id, as_of, digest, manifest_digest: manifestDigest, counts, lints };
    }, STATEMENT_MS.bulk);
  }

  query(body: BuildsQueryDto): Promise<Readable> {
    return this.database.stream(buildsQuery(body));
  }

  /** One snapshot for all statements of `work`, when it is its turn. @throws Busy when that does not come */
  private async inSnapshot<T>(work: () => Promise<T>, statementMs: number): Promise<T> {
    if (this.database.inTransaction) return work();
    const read = async () => {
      await this.database.query(SNAPSHOT);
      return work();
    };
    return this.slots.with(this.database.key(), () => this.database.long(read, statementMs));
  }

  private async findUntrained(
    { project_id: projectId, mode }: { project_id: string; mode?: 'all' | 'new' | null },
    {
      name,
      recipe: {
        llm: { policy },
      },
    }: KnownRecipe,
  ): Promise<BuildPlan['untrained']> {
    if (mode !== 'new' || name === null) return null;
    const [model] =
      policy === null ? [] : await this.database.query(latestStepQuery(projectId, policy));
    return { recipeName: name, modelId: model?.id ?? null };
  }

  private async manifestDigest(projectId: string, buildId: string): Promise<string> {
    const hash = createHash('sha256');
    for (let after: { kind: string; id: string } | null = null; ;) {
      const query: ReturnType<typeof manifestQuery> = manifestQuery(projectId, buildId, after);
      const lines = await this.database.query(query);
      for (const { kind, id, sha256 } of lines) hash.update(`${kind} ${id} ${sha256}\n`);
      const last = lines.at(-1);
      if (!last) return hash.digest('hex');
      after = { kind: last.kind, id: last.id };
    }
  }
}

/** @throws ApiError when lints of level error are not accepted, or the digest is not the expected one */
function refuse({ lints, digest }: Built, { accept, expected_digest }: BuildCreateDto): void {
  const errors = lints.filter(({ level, code }) => level === 'error' && !accept?.includes(code));
  if (errors.length > 0) throw lintFailed(lints, errors);
  if (typeof expected_digest === 'string' && expected_digest !== digest)
    throw new ApiError(
      'conflict',
      `expected_digest differs from the digest of the groups, ${digest}`,
    );
}

/** @throws ApiError when the key was revoked, Error when the client has left */
async function stillThere({ caller, signal }: Context): Promise<void> {
  if (signal.aborted) throw new ApiError('request_timeout', 'the client has left');
  await caller.assertValid();
}
