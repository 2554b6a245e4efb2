import { textIn } from '../api/search.ts';
import type { Version } from './queries.ts';

export interface ObjectsSearch {
  /** Only ops, or only other objects; both when absent. */
  kind?: 'object' | 'op';
  sort?: Sort;
  /** A part of the name. */
  q?: string;
}

const SORTS = ['created_at', '-created_at', 'object_id', '-object_id'] as const;
export type Sort = (typeof SORTS)[number];

export interface ObjectSearch {
  /** The digest of a version; the latest when absent. */
  version?: string;
  /** The digest of the version to compare with; the previous one when absent. */
  with?: string;
  tab?: Tab;
  /** The page of a dataset's rows. */
  page?: number;
  /** The field that sorts the rows; `-` before it means descending. */
  sort?: string;
  /** A text that the rows say. */
  q?: string;
}

/** A version of an object, and the state of its page in the address. */
export interface VersionProps {
  project: string;
  version: Version;
  versions: readonly Version[];
  search: ObjectSearch;
  onSearch: (search: ObjectSearch) => void;
}

const TABS = ['rows', 'value', 'changes', 'calls'] as const;
type Tab = (typeof TABS)[number];

const searchedText = (value: unknown) => {
  const q = textIn(value);
  return q === undefined ? {} : { q };
};

export function objectsSearch({ kind, sort, q }: Record<string, unknown>): ObjectsSearch {
  const order = SORTS.find((one) => one === sort);
  return {
    ...((kind === 'object' || kind === 'op') && { kind }),
    ...(order !== undefined && { sort: order }),
    ...searchedText(q),
  };
}

export function objectSearch(search: Record<string, unknown>): ObjectSearch {
  const [version, other, sort] = [
    textIn(search['version']),
    textIn(search['with']),
    search['sort'],
  ];
  const tab = TABS.find((one) => one === search['tab']);
  const { page } = search;
  return {
    ...(version !== undefined && { version }),
    ...(other !== undefined && { with: other }),
    ...(tab !== undefined && { tab }),
    ...(Number.isSafeInteger(page) && (page as number) > 1 && { page: page as number }),
    ...(textIn(sort) !== undefined && { sort: textIn(sort)! }),
    ...searchedText(search['q']),
  };
}
