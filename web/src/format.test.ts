import { describe, expect, it } from 'vitest';
import * as format from './format.ts';

describe('significant digits', () => {
  it('keeps three of them at any size', () => {
    expect([0.04123, 1.294, 12.94, 129.4, 1294, 1294567].map((v) => format.sig(v))).toEqual(['0.0412', '1.29', '12.9', '129', '1,290', '1,290,000']);
  });
  it('does not gain a digit when rounding crosses a power of ten', () => expect(format.sig(9.999)).toBe('10.0'));
  it('shows nothing for what is not a number', () => {
    expect(format.sig(undefined)).toBe('–');
    expect(format.sig(NaN)).toBe('–');
    expect(format.sig(0)).toBe('0');
  });
});

describe('units', () => {
  it('picks the unit that fits', () => {
    expect(format.count(25_557_032)).toBe('25.6 M');
    expect(format.count(999.7)).toBe('1.00 k');
    expect(format.bytes(97.5 * 2 ** 20)).toBe('97.5 MB');
    expect(format.milliseconds(0.258)).toBe('258 µs');
    expect(format.seconds(845)).toBe('14.1 min');
    expect(format.joules(0.542)).toBe('542 mJ');
    expect(format.watt_hours(3.6e6)).toBe('1.00 kWh');
    expect(format.grams(1500)).toBe('1.50 kg');
    expect(format.dollars(0.16)).toBe('$0.16');
    expect(format.dollars(0.00041)).toBe('$0.00041');
    expect(format.percent(0.197)).toBe('19.7 %');
    expect(format.percent(0.0002)).toBe('<0.1 %');
  });
});

describe('typed counts', () => {
  it('understands separators, exponents and k, M, G', () => {
    expect(['1,000,000', '1e6', '10k', '2 M', '1.5k'].map(format.parse_count)).toEqual([1e6, 1e6, 1e4, 2e6, 1500]);
  });
  it('refuses what is no count', () => {
    for (const text of ['', '-1', '0', 'ten', '1e99', '3 apples']) expect(format.parse_count(text)).toBeNull();
  });
});
