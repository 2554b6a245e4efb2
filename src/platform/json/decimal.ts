const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/;

/**
 * A decimal number without rounding: `digits` × 10^-`scale`. Prices such as 1.5e-7 are multiplied and added exactly.
 */
export class Decimal {
  private constructor(
    private readonly digits: bigint,
    private readonly scale: number,
  ) {}

  static readonly zero = new Decimal(0n, 0);

  /**
   * Parses a number as JSON, JavaScript or PostgreSQL prints it.
   * @throws RangeError for any other text
   */
  static parse(text: string): Decimal {
    const match = NUMBER.exec(text);
    if (!match) throw new RangeError(`not a decimal number: ${text.slice(0, 40)}`);
    const [, sign, whole, fraction = '', exponent = '0'] = match;
    return new Decimal(BigInt(sign + whole! + fraction), fraction.length - Number(exponent));
  }

  /** Number of decimals without trailing zeros. A zero has as many as it was written with. */
  get places(): number {
    if (this.digits === 0n) return this.scale;
    const zeros = /0*$/.exec(this.digits.toString())![0].length;
    return Math.max(this.scale - zeros, 0);
  }

  /** Returns the number × 10^-`places`. */
  shifted(places: number): Decimal {
    return new Decimal(this.digits, this.scale + places);
  }

  times(count: number | bigint): Decimal {
    return new Decimal(this.digits * BigInt(count), this.scale);
  }

  plus(other: Decimal): Decimal {
    const scale = Math.max(this.scale, other.scale);
    return new Decimal(this.at(scale) + other.at(scale), scale);
  }

  /**
   * Prints the number in plain notation, which is also a JSON number: no exponent, and no trailing zeros in the
   * fraction.
   */
  toString(): string {
    if (this.scale <= 0) return this.at(0).toString();
    const isNegative = this.digits < 0n;
    const all = (isNegative ? -this.digits : this.digits).toString().padStart(this.scale + 1, '0');
    const point = all.length - this.scale;
    let end = all.length;
    while (end > point && all[end - 1] === '0') end--;
    const text =
      end > point ? `${all.slice(0, point)}.${all.slice(point, end)}` : all.slice(0, point);
    return isNegative ? `-${text}` : text;
  }

  private at(scale: number): bigint {
    return scale === this.scale ? this.digits : this.digits * 10n ** BigInt(scale - this.scale);
  }
}

/** Prints JSON with every digit of each `Decimal`. `JSON.stringify` could print it only as a string or a double. */
export function printDecimals(value: unknown): string {
  if (value instanceof Decimal) return value.toString();
  if (Array.isArray(value)) return `[${value.map(printDecimals).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${printDecimals(member)}`,
  );
  return `{${members.join(',')}}`;
}
