import { compareCodePoints } from '../../../platform/json/code-point-order.js';
import { groupBy } from '../../../platform/query/grouping.js';
import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { type BuildResult, type BuildPlan, BuildRun, type LabelledUnit } from './build-run.js';
import { dividedInto } from './groups.js';
import type { RecipeSplitDto } from '../recipe/recipe.dto.js';
import { promptKeys } from '../rollout/rollout.js';
import { type SplitUnit, splitsByKey } from './splits.js';
import {
  asOfQuery,
  latestStepQuery,
  type RootRow,
  type UnitSelection,
} from '../units/units.query.js';
import type { UnitWithMembers, Unit } from '../units/unit-calls.js';
import { type GroupKeyPath, UnitsService } from '../units/units.service.js';

/** Increases when the same data would give a different build. Builds of different versions are not compared. */
export const BUILDER_VERSION = 2;

/** Roots whose keys and turns one statement reads. */
const ROOTS_AT_ONCE = 50;

type KeyedUnit = Omit<LabelledUnit, 'split'> & SplitUnit;

/**
 * Builds trajectory groups from recorded calls: first the keys and rewards of all units, then one group after the
 * other. Runs in a transaction of the caller, which must see one snapshot. Memory: some hundred bytes for each unit,
 * and one group.
 */
@Injectable()
export class Builder {
  constructor(
    private readonly database: Database,
    private readonly units: UnitsService,
  ) {}

  async build(plan: BuildPlan): Promise<BuildResult> {
    const { projectId, recipe, name, mode, of } = plan;
    const { policy } = recipe.llm;
    const { condition, keys } = this.units.check(projectId, recipe, plan.path);
    const [now] = await this.database.query(asOfQuery());
    const [model] =
      policy === null ? [] : await this.database.query(latestStepQuery(projectId, policy));
    const untrained =
      mode === 'new' && name !== null ? { recipeName: name, modelId: model?.id ?? null } : null;
    const selection = { projectId, recipe, condition, untrained, of };
    const run = new BuildRun(plan, model?.step ?? null);
    const roots = await this.units.select(selection);
    run.counts.units = roots.length;
    const keyed = await this.readLabels(selection, { roots, keys, run });
    const sides = splitsByKey(keyed, recipe.split);
    for (const group of groupLabelled(keyed.map((one) => ({ ...one, split: sides.get(one.key)! }))))
      for (const part of dividedInto(group, recipe.group.max))
        await this.buildGroup(plan, part, run);
    return { as_of: now!.as_of, ...run.result() };
  }

  private async readLabels(
    selection: UnitSelection,
    { roots, keys, run }: { roots: RootRow[]; keys: GroupKeyPath[]; run: BuildRun },
  ): Promise<KeyedUnit[]> {
    const labelled: KeyedUnit[] = [];
    for (let at = 0; at < roots.length; at += ROOTS_AT_ONCE) {
      await run.goOn();
      const some = roots.slice(at, at + ROOTS_AT_ONCE);
      const units = await this.units.findUnits(selection, some, keys);
      const { projectId, recipe } = selection;
      for await (const part of this.units.readParts(projectId, units, recipe))
        for (const one of await this.readLabelled(selection, { part, keys, run }))
          labelled.push(one);
    }
    return labelled;
  }

  private async readLabelled(
    selection: UnitSelection,
    { part, keys, run }: { part: UnitWithMembers[]; keys: GroupKeyPath[]; run: BuildRun },
  ): Promise<KeyedUnit[]> {
    const { projectId, recipe } = selection;
    const settled = part.filter((one) => run.isSettled(one));
    const said = await this.units.readSaid(projectId, settled, recipe);
    const known = settled.filter((one, i) => run.hasReward(one, said[i]!));
    const withKeys = known.map((one) => ({ ...one, key: groupKey(one.unit, keys) }));
    const asked = withKeys.filter(({ key }) => key === null);
    const prompts = new Map<Unit, string>();
    if (keys.some(({ value }) => value === null)) {
      let i = 0;
      for await (const { calls } of this.units.readCalls(selection, asked)) {
        await run.goOn();
        const { unit } = asked[i++]!;
        if (calls[0]) prompts.set(unit, `prompt=${promptKeys(calls[0]).promptKey}`);
      }
    }
    return withKeys.flatMap(({ unit, members: { hasFailed }, key: path }) => {
      const key = path ?? prompts.get(unit) ?? null;
      if (key === null) run.leaveOut('no_key');
      return key === null ? [] : [{ unit, hasFailed, key, side: splitKey(unit, recipe.split) }];
    });
  }

  private async buildGroup(plan: BuildPlan, group: LabelledUnit[], run: BuildRun): Promise<void> {
    const { projectId, recipe } = plan;
    const units = group.map(({ unit }) => unit);
    let i = 0;
    run.beginGroup(group[0]!);
    for await (const some of this.units.readParts(projectId, units, recipe)) {
      const said = await this.units.readSaid(projectId, some, recipe);
      let at = 0;
      for await (const calls of this.units.readCalls(plan, some)) {
        await run.goOn();
        const { parents } = some[at]!.members;
        await run.addUnit({ ...group[i++]!, parents, said: said[at++]! }, calls);
      }
    }
    const built = await run.endGroup();
    if (built) await plan.take(built);
  }
}

/** Returns the first group key that has a value. Null when the first one is the prompt, or no key has a value. */
function groupKey({ root }: Unit, keys: GroupKeyPath[]): string | null {
  let at = 0;
  for (const { name, value } of keys) {
    if (value === null) return null;
    const found = root.keys[at++];
    if (found !== null && found !== undefined) return `${name}=${found}`;
  }
  return null;
}

/**
 * Returns the thread, the user or the other value that the recipe splits by. Null when it splits by groups alone, or
 * the unit has no such value.
 */
function splitKey({ root }: Unit, { by }: RecipeSplitDto): string | null {
  if (by === 'thread') return root.thread_id || null;
  return by === 'group' ? null : (root.keys.at(-1) ?? null);
}

/** Groups units by key. The training side comes first, then groups are ordered by key, and units by start time. */
function groupLabelled(labelled: LabelledUnit[]): LabelledUnit[][] {
  const groups = groupBy(labelled, ({ key }) => key);
  const inOrder = [...groups.values()].map((group) =>
    group.toSorted(
      ({ unit: a }, { unit: b }) =>
        compareCodePoints(a.root.started_at, b.root.started_at) || compareCodePoints(a.id, b.id),
    ),
  );
  return inOrder.toSorted(
    ([a], [b]) => compareCodePoints(b!.split, a!.split) || compareCodePoints(a!.key, b!.key),
  );
}
