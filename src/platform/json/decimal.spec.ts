import fc from 'fast-check';
import { Decimal } from './decimal.js';

describe('Decimal', () => {
  it.each([
    ['1.5e-7', '0.00000015'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['1.50', '1.5'],
    ['-0', '0'],
    ['1e3', '1000'],
    ['12E+2', '1200'],
    ['0.000', '0'],
    ['-2.50', '-2.5'],
    ['1e21', '1000000000000000000000'],
  ])('reads %s and prints %s', (text, printed) => {
    expect(Decimal.parse(text).toString()).toBe(printed);
  });

  it.each(['', '1.', '.5', 'NaN', '0x1', '1 ', '1e'])('refuses %p', (text) => {
    expect(() => Decimal.parse(text)).toThrow(RangeError);
  });

  it('multiplies and adds without loss', () => {
    expect(Decimal.parse('0.1').plus(Decimal.parse('0.2')).toString()).toBe('0.3');
    expect(Decimal.parse('1e2').plus(Decimal.parse('0.05')).toString()).toBe('100.05');
    expect(Decimal.parse('1.5e-7').times(3_000_000_001).toString()).toBe('450.00000015');
    expect(Decimal.parse('2.5').shifted(6).toString()).toBe('0.0000025');
  });

  it('agrees with whole numbers at every scale', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
        fc.nat(25),
        (a, b, scale) => {
          const sum = Decimal.parse(`${a}e-${scale}`).plus(Decimal.parse(`${b}e-${scale}`));
          expect(sum.shifted(-scale).toString()).toBe(`${a + b}`);
        },
      ),
    );
  });
});
