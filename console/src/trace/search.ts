import { textIn } from '../api/search.ts';

const TABS = ['chat', 'json', 'more', 'cost', 'feedback', 'compare', 'raw'] as const;
export type Tab = (typeof TABS)[number];

export interface TraceSearch {
  call?: string;
  tab?: Tab;
  /** The tree when absent. */
  view?: 'graph';
  /** Texts to mark in the documents of the call. */
  said?: string[];
  /** The id of the call to compare with. */
  with?: string;
}

export function traceSearch(search: Record<string, unknown>): TraceSearch {
  const [call, other] = [textIn(search['call']), textIn(search['with'])];
  const { said } = search;
  const tab = TABS.find((one) => one === search['tab']);
  return {
    ...(call !== undefined && { call }),
    ...(tab !== undefined && { tab }),
    ...(Array.isArray(said) && { said: said.map(String) }),
    ...(search['view'] === 'graph' && { view: 'graph' as const }),
    ...(other !== undefined && { with: other }),
  };
}
