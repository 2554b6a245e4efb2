const DECIMAL = /^(\d{1,12})(?:\.(\d{1,12}))?$/;
/** Decimal places between the price of one token and the price of a million. */
const SHIFT = 6;

/**
 * Converts the price of a million tokens to that of one. Exact, because it only moves the decimal point. Null for a
 * text that is no decimal.
 */
export function perToken(perMillion: string): string | null {
  const found = DECIMAL.exec(perMillion.trim());
  if (!found) return null;
  const digits = (found[1]! + (found[2] ?? '')).padStart(SHIFT + 1 + (found[2]?.length ?? 0), '0');
  const point = digits.length - (found[2]?.length ?? 0) - SHIFT;
  const whole = digits.slice(0, point).replace(/^0+(?=\d)/, '');
  const rest = digits.slice(point).replace(/0+$/, '');
  return rest === '' ? whole : `${whole}.${rest}`;
}

export interface Price {
  model: string;
  /** Prices of a million tokens as they were typed. The prices of cached tokens may be empty. */
  input: string;
  output: string;
  cacheRead: string;
  cacheCreation: string;
  unit: string;
  effectiveDate: string;
}

/** The body of `/cost/create` as text, so that every digit is sent as typed. Null when a price is no decimal. */
export function costText(project: string, price: Price): string | null {
  const members = [
    ['prompt_token_cost', price.input],
    ['completion_token_cost', price.output],
    ['cache_read_input_token_cost', price.cacheRead],
    ['cache_creation_input_token_cost', price.cacheCreation],
  ].filter(([name, text]) => text !== '' || !name!.startsWith('cache_'));
  const costs = members.map(([name, text]) => [name, perToken(text!)]);
  if (costs.some(([, cost]) => cost === null)) return null;
  const texts = {
    prompt_token_cost_unit: price.unit,
    completion_token_cost_unit: price.unit,
    effective_date: price.effectiveDate,
  };
  const record = costs.map(([name, cost]) => `"${name}":${cost}`).join(',');
  return `{"project_id":${JSON.stringify(project)},"costs":{${JSON.stringify(price.model)}:{${record},${JSON.stringify(texts).slice(1)}}}`;
}
