import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { Idempotency } from '../../platform/auth/idempotency/idempotency.js';
import type { Context } from '../../platform/http/context.js';
import { ApiError } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { ConnectionSlots } from '../../platform/database/connection-slots.js';
import { ObjectsService } from '../../tracing/objects/objects.service.js';
import { Packer } from './exports/build-bytes.js';
import type { BuildResult, BuildPlan } from './groups/build-run.js';
import { Builder, BUILDER_VERSION } from './groups/builder.js';
import type {
  BuildCreatedDto,
  BuildCreateDto,
  BuildPreviewDto,
  BuildsQueryDto,
} from './builds.dto.js';
import {
  buildInsert,
  buildQuery,
  buildsQuery,
  chunkInsert,
  inputsInsert,
  manifestQuery,
  unitsInsert,
} from './builds.query.js';
import { lintFailed } from './recipe/lints.js';
import { findRecipe, type KnownRecipe } from './recipe/known-recipe.js';
import { readRecipe } from './recipe/recipe.js';
import { SNAPSHOT } from './units/units.query.js';
import { BUILDS } from './build.entity.js';

/** Bytes of all samples of a preview together. */
const MAX_SAMPLE_BYTES = 8 * 1024 * 1024;
const SAMPLES = 3;
/** Builds and previews that a process runs at once. Each holds one group, and the facts of its units, in memory. */
const AT_ONCE = 3;

class NoUnitsLeft extends Error {}

@Injectable()
export class BuildsService {
  private readonly slots = new ConnectionSlots(AT_ONCE);

  constructor(
    private readonly database: Database,
    private readonly builder: Builder,
    private readonly objects: ObjectsService,
    private readonly idempotency: Idempotency,
  ) {}

  /** Previews a build, and returns JSON text. Stores nothing. */
  async preview(body: BuildPreviewDto, context: Context): Promise<string> {
    const { project_id: projectId, mode, samples: wanted } = body;
    const known = await findRecipe(this.objects, body);
    const samples: string[] = [];
    let room = MAX_SAMPLE_BYTES;
    const take: BuildPlan['take'] = async ({ line }) => {
      const bytes = line.reduce((sum, { length }) => sum + length, 0);
      if (samples.length >= (wanted ?? SAMPLES) || bytes > room) return;
      room -= bytes;
      samples.push(Buffer.concat(line).toString('utf8').trimEnd());
    };
    const goOn = () => assertClientPresent(context);
    const { as_of, counts, lints, hint, facts, digest } = await this.inSnapshot('read', () =>
      this.builder.build({ projectId, ...known, mode: mode ?? 'all', take, goOn }),
    );
    const { rewards, ...others } = facts;
    const answer = JSON.stringify({ as_of, counts, rewards, facts: others, lints, hint, digest });
    return `${answer.slice(0, -1)},"samples":[${samples.join(',')}]}`;
  }

  create(body: BuildCreateDto, context: Context): Promise<BuildCreatedDto> {
    const { project_id: projectId, mode } = body;
    const check = (built: BuildResult) => assertAcceptable(built, body);
    const create = async () => {
      const known = await findRecipe(this.objects, body);
      return this.make({ projectId, ...known, mode, check }, context);
    };
    return this.idempotency.once(context, create, {
      transaction: (run) => this.inSnapshot('bulk', run),
    });
  }

  /**
   * Builds the units of an erased build again, with the same recipe. Returns the id of the old build when it is not
   * erased, and null when no unit is left to train on.
   */
  async remake(projectId: string, of: string, context: Context): Promise<string | null> {
    const [old] = await this.database.query(buildQuery(projectId, of));
    if (!old) throw new ApiError('not_found', 'there is no such build in the project');
    if (!old.is_erased) return of;
    const path = `the recipe of build ${of}:`;
    const known = {
      recipe: readRecipe(JSON.parse(old.recipe), path),
      text: old.recipe,
      name: old.recipe_name,
      digest: old.recipe_digest,
      path,
    };
    const check = ({ counts }: BuildResult) => {
      if (counts.groups === counts.eval_groups) throw new NoUnitsLeft();
    };
    try {
      const make = () => this.make({ projectId, ...known, mode: 'all', of, check }, context);
      return (await this.inSnapshot('bulk', make)).build_id;
    } catch (error) {
      if (error instanceof NoUnitsLeft) return null;
      throw error;
    }
  }

  /** Makes a build in a snapshot, and stores it when it passes the check. */
  private async make(
    plan: Omit<BuildPlan, 'take' | 'goOn'> & KnownRecipe & { check: (built: BuildResult) => void },
    context: Context,
  ): Promise<BuildCreatedDto> {
    const { projectId, mode } = plan;
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
    const built = await this.builder.build({
      ...plan,
      take,
      goOn: () => assertClientPresent(context),
    });
    await packer.flush();
    plan.check(built);
    const manifestDigest = await this.manifestDigest(projectId, id);
    await this.database.query(
      buildInsert({
        projectId,
        id,
        recipeName: plan.name!,
        recipeDigest: plan.digest!,
        recipe: plan.text,
        counts: JSON.stringify(built.counts),
        lints: JSON.stringify(built.lints),
        facts: JSON.stringify(built.facts),
        mode,
        builderVersion: BUILDER_VERSION,
        asOf: built.as_of,
        digest: built.digest,
        manifestDigest,
        numChunks: packer.seq,
        userId: context.caller.userName,
      }),
    );
    this.database.changes.note(projectId, BUILDS);
    const { as_of, digest, counts, lints } = built;
    return { build_id: id, as_of, digest, manifest_digest: manifestDigest, counts, lints };
  }

  query(body: BuildsQueryDto): Promise<Readable> {
    return this.database.stream(buildsQuery(body));
  }

  /**
   * Waits for a slot, and runs `work` in a transaction in which all statements see one snapshot.
   * @throws Busy when no slot becomes free in time
   */
  private inSnapshot<T>(long: 'read' | 'bulk', work: () => Promise<T>): Promise<T> {
    const read = async () => {
      await this.database.query(SNAPSHOT);
      return work();
    };
    return this.slots.with(this.database.scope.owner, () =>
      this.database.transaction({ long }, read),
    );
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
function assertAcceptable(
  { lints, digest }: BuildResult,
  { accept, expected_digest }: BuildCreateDto,
): void {
  const errors = lints.filter(({ level, code }) => level === 'error' && !accept?.includes(code));
  if (errors.length > 0) throw lintFailed(lints, errors);
  if (typeof expected_digest === 'string' && expected_digest !== digest)
    throw new ApiError(
      'conflict',
      `expected_digest differs from the digest of the groups, ${digest}`,
    );
}

/** @throws ApiError when the client has left or the key was revoked */
async function assertClientPresent({ caller, signal }: Context): Promise<void> {
  if (signal.aborted) throw new ApiError('request_timeout', 'the client has left');
  await caller.assertValid();
}
