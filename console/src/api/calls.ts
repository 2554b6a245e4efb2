import type { CallStatus } from '../ui/Status.tsx';
import { wire } from './wire.ts';

/** The derived part of a call's summary. */
export interface Derived {
  status: CallStatus;
  latency_ms: number | null;
  trace_name: string;
  costs?: Record<string, Costs>;
}

/** What a model cost in a call; null where it has no price. */
export interface Costs {
  prompt_tokens: number;
  completion_tokens: number;
  total_cost: number | null;
  prompt_token_cost_unit?: string;
}

type Usage = Record<string, unknown>;

/** What lists show of a call; other members by what was asked for. */
export interface CallRow {
  id: string;
  project_id: string;
  trace_id: string;
  op_name: string;
  display_name?: string | null;
  parent_id?: string | null;
  thread_id?: string | null;
  turn_id?: string | null;
  started_at: string;
  ended_at?: string | null;
  exception?: string | null;
  summary: { usage?: Record<string, Usage>; [key: string]: unknown };
  [key: string]: unknown;
}

export const derivedOf = (call: CallRow): Derived => call.summary[wire.summary] as Derived;

export const userOf = (call: CallRow): string | null =>
  (call[wire.userId] as string | null) ?? null;

const INPUT = ['prompt_tokens', 'input_tokens', 'prompt_token_count'];
const OUTPUT = ['completion_tokens', 'output_tokens', 'candidates_token_count'];

const firstNumber = (usage: Usage, names: string[]): number | undefined => {
  for (const name of names) if (typeof usage[name] === 'number') return usage[name];
  return undefined;
};

/** Tokens of all models of a call; null when it says nothing of any. */
export function tokensOf({ summary }: CallRow): { input: number; output: number } | null {
  const { usage } = summary;
  if (typeof usage !== 'object' || usage === null) return null;
  const sum = { input: 0, output: 0 };
  let isKnown = false;
  for (const one of Object.values(usage)) {
    if (typeof one !== 'object' || one === null) continue;
    const [input, output] = [firstNumber(one, INPUT), firstNumber(one, OUTPUT)];
    isKnown ||= input !== undefined || output !== undefined;
    sum.input += input ?? 0;
    sum.output += output ?? 0;
  }
  return isKnown ? sum : null;
}

/** What a call cost, as far as its models are priced; null when none is. */
export function costOf(call: CallRow): number | null {
  const totals = Object.values(derivedOf(call).costs ?? {}).map(({ total_cost }) => total_cost);
  const known = totals.filter((total) => total !== null);
  return known.length === 0 ? null : known.reduce((sum, total) => sum + total, 0);
}
