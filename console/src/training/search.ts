import { textIn } from '../api/search.ts';

const TABS = ['models', 'jobs', 'builds', 'tainted'] as const;
type TrainingTab = (typeof TABS)[number];

export interface TrainingSearch {
  tab?: TrainingTab;
}

export function trainingSearch(search: Record<string, unknown>): TrainingSearch {
  const tab = TABS.find((one) => one === search['tab']);
  return tab === undefined ? {} : { tab };
}

export const ORDERS = {
  '-reward': 'Highest reward first',
  reward: 'Lowest reward first',
  '-num_tokens': 'Most tokens first',
  num_tokens: 'Fewest tokens first',
} as const;
export type Order = keyof typeof ORDERS;

export interface TrajectoriesSearch {
  split?: string;
  step?: number;
  /** Latest groups first when absent. */
  sort?: Order;
  page?: number;
  /** The id of the shown trajectory; the first one when absent. */
  read?: string;
}

const MODEL_TABS = ['jobs', 'trajectories', 'promotions'] as const;

export interface ModelSearch extends TrajectoriesSearch {
  tab?: (typeof MODEL_TABS)[number];
}

export interface JobSearch extends TrajectoriesSearch {
  tab?: 'trajectories' | 'lineage';
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

function trajectoriesSearch(search: Record<string, unknown>): TrajectoriesSearch {
  const [split, read] = [textIn(search['split']), textIn(search['read'])];
  const { step, page, sort } = search;
  return {
    ...(split !== undefined && { split }),
    ...(isCount(step) && { step }),
    ...(typeof sort === 'string' && Object.hasOwn(ORDERS, sort) && { sort: sort as Order }),
    ...(isCount(page) && page > 1 && { page }),
    ...(read !== undefined && { read }),
  };
}

export function modelSearch(search: Record<string, unknown>): ModelSearch {
  const tab = MODEL_TABS.find((one) => one === search['tab']);
  return { ...(tab !== undefined && { tab }), ...trajectoriesSearch(search) };
}

export function jobSearch(search: Record<string, unknown>): JobSearch {
  const { tab } = search;
  return {
    ...((tab === 'trajectories' || tab === 'lineage') && { tab }),
    ...trajectoriesSearch(search),
  };
}

export interface CheckpointSearch {
  tab?: 'lineage' | 'promotion';
}

export function checkpointSearch({ tab }: Record<string, unknown>): CheckpointSearch {
  return tab === 'lineage' || tab === 'promotion' ? { tab } : {};
}

export interface BuildSearch {
  tab?: 'samples' | 'lineage';
}

export function buildSearch({ tab }: Record<string, unknown>): BuildSearch {
  return tab === 'samples' || tab === 'lineage' ? { tab } : {};
}

/** The edited recipe, and whether its preview is limited to calls that were not trained on. */
export interface RecipeSearch {
  recipe?: string;
  mode?: 'new';
  tab?: 'sample' | 'changes';
}

export function recipeSearch({ recipe, mode, tab }: Record<string, unknown>): RecipeSearch {
  return {
    ...(textIn(recipe) !== undefined && { recipe: textIn(recipe)! }),
    ...(mode === 'new' && { mode }),
    ...((tab === 'sample' || tab === 'changes') && { tab }),
  };
}
