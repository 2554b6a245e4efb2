import { groupBy } from '../../platform/query/grouping.js';
import { Decimal } from '../../platform/json/decimal.js';
import {
  builtinPrice,
  builtinSplits,
  type UsageRange,
  type PriceSplits,
} from './builtin-prices.js';
import { hasPlainName, type PriceRecord, recordPrice } from './price.js';
import { PRICE_KINDS, type Price, tokensCost } from './price-kinds.js';

/** A record of the project, with the segment of the window from which it is in force. */
export interface BookRow extends PriceRecord {
  llm_id: string;
  segment: number;
}

export interface SegmentSpending extends UsageRange {
  llmId: string;
  segment: number;
  /** Prompt, completion, cache read and cache creation. */
  tokens: readonly [bigint, bigint, bigint, bigint];
  /** Counts of `DETAILS`, in their order. */
  details: readonly bigint[] | null;
  /** A bit for each of the four kinds whose tokens are unknown. */
  unknownKinds: number;
}

type PriceKey = Omit<SegmentSpending, 'tokens' | 'details' | 'unknownKinds'>;

/** The cost of tokens; null when none of them has a price. */
export interface SegmentCost {
  input: Decimal | null;
  output: Decimal | null;
  inputUnit: string | null;
  outputUnit: string | null;
  unpricedTokens: bigint;
}

/** Prices of models in the segments of a window. The project's records precede built-in prices. */
export class PriceBook {
  private readonly records: Map<string, { segment: number; price: Price }[]>;

  constructor(rows: readonly BookRow[]) {
    const records = rows.map((row) => ({ ...row, price: recordPrice(row) }));
    this.records = groupBy(records, ({ llm_id }) => llm_id);
  }

  findPrice({ llmId, segment, first, minInput }: PriceKey): Price | null {
    const record = this.records.get(llmId)?.findLast((record) => record.segment <= segment);
    if (record) return record.price;
    return hasPlainName(llmId) ? builtinPrice(llmId, first, minInput) : null;
  }

  /** Returns the points between calls that may have different prices. */
  findSplits(spending: PriceKey): PriceSplits {
    const { llmId, segment } = spending;
    const isOfProject = this.records.get(llmId)?.some((record) => record.segment <= segment);
    return isOfProject || !hasPlainName(llmId)
      ? { instants: [], tiers: [] }
      : builtinSplits(llmId, spending);
  }

  /** Returns the cost of calls that share a price: tokens × price, multiplied once. */
  priceSpending(spending: SegmentSpending): SegmentCost {
    const price = this.findPrice(spending);
    let input: Decimal | null = null;
    let output: Decimal | null = null;
    let unpricedTokens = 0n;
    for (const [i, kind] of PRICE_KINDS.entries()) {
      const tokens = spending.tokens[i]!;
      const part =
        price && isKnown(spending.unknownKinds, i)
          ? tokensCost(price, kind, tokens, spending.details)
          : null;
      if (!part) unpricedTokens += tokens;
      else if (i === COMPLETION) output = part;
      else input = input ? input.plus(part) : part;
    }
    return {
      input,
      output,
      inputUnit: price?.prompt_token_cost_unit ?? null,
      outputUnit: price?.completion_token_cost_unit ?? null,
      unpricedTokens,
    };
  }
}

/** Index of completion tokens in `PRICE_KINDS`. The other kinds are input. */
const COMPLETION = 1;

const isKnown = (unknownKinds: number, kind: number) => (unknownKinds & (1 << kind)) === 0;
