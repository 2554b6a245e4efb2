const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/;

/** A decimal number without loss: `digits` × 10^-`scale`. Prices of 1.5e-7 multiply and add up exactly. */
export class Decimal {
  private constructor(
    private readonly digits: bigint,
    readonly scale: number,
  ) {}

  static readonly zero = new Decimal(0n, 0);

  /** Reads a number as JSON, JavaScript or PostgreSQL spells it. @throws RangeError for any other text */
  static parse(text: string): Decimal {
    const match = NUMBER.exec(text);
    if (!match) throw new RangeError(`not a decimal number: ${text.slice(0, 40)}`);
    const [, sign, whole, fraction = '', exponent = '0'] = match;
    return new Decimal(BigInt(sign + whole! + fraction), fraction.length - Number(exponent));
  }

  /** The number × 10^-`places`. */
  shifted(places: number): Decimal {
    return new Decimal(this.digits, this.scale + places);
  }

  times(count: number): Decimal {
    return new Decimal(this.digits * BigInt(count), this.scale);
  }

  plus(other: Decimal): Decimal {
    const scale = Math.max(this.scale, other.scale);
    return new Decimal(this.at(scale) + other.at(scale), scale);
  }

  /** In plain notation, which is also a JSON number: no exponent, no zeros at the end of a fraction. */
  toString(): string {
    const scale = Math.max(this.scale, 0);
    const sign = this.digits < 0n ? '-' : '';
    const all = this.at(scale)
      .toString()
      .replace('-', '')
      .padStart(scale + 1, '0');
    const fraction = all.slice(all.length - scale).replace(/0+$/, '');
    const whole = all.slice(0, all.length - scale);
    return scale > 0 && fraction ? `${sign}${whole}.${fraction}` : sign + whole;
  }

  private at(scale: number): bigint {
    return this.digits * 10n ** BigInt(scale - this.scale);
  }
}
