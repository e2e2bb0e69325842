import { describe, expect, it } from 'vitest';
import { tick_text } from './frame.ts';
import { extent, linear, log, log_padded, nice_step, round_up } from './scale.ts';

describe('linear scale', () => {
  it('maps both ends and the middle', () => {
    const x = linear([0, 10], [100, 200]);
    expect([x(0), x(5), x(10)]).toEqual([100, 150, 200]);
  });
  it('has round ticks inside the domain', () => expect(linear([0, 9.7], [0, 1]).ticks).toEqual([0, 2, 4, 6, 8]));
  it('survives an empty domain', () => expect(Number.isFinite(linear([3, 3], [0, 1])(3))).toBe(true));
});

describe('log scale', () => {
  it('spaces decades evenly', () => {
    const x = log([1, 1000], [0, 300]);
    expect([1, 10, 100, 1000].map((v) => Math.round(x(v)))).toEqual([0, 100, 200, 300]);
    expect(x.ticks).toEqual([1, 10, 100, 1000]);
  });
  it('adds ticks within a decade when the domain is narrow', () => expect(log([2, 9], [0, 1]).ticks).toEqual([2, 3, 5, 7]));
  it('thins out the decades of a wide domain', () => expect(log([1, 1e12], [0, 1], 6).ticks.length).toBeLessThanOrEqual(7));
});

describe('small things', () => {
  it('steps are 1, 2 or 5 times a power of ten', () => expect([0.9, 7, 23, 480].map((span) => nice_step(span, 5))).toEqual([0.2, 1, 5, 100]));
  it('extent skips what is not finite', () => {
    expect(extent([3, NaN, undefined, -1, Infinity])).toEqual([-1, 3]);
    expect(extent([undefined])).toBeNull();
  });
  it('padding widens a single point', () => {
    const [low, high] = log_padded([5, 5]);
    expect(low).toBeLessThan(5);
    expect(high).toBeGreaterThan(5);
  });
  it('rounds up to a round number', () => expect(round_up(973)).toBe(1000));
  it('ticks are short', () => expect([0, 0.05, 7, 1000, 20000, 1e15].map(tick_text)).toEqual(['0', '0.05', '7', '1,000', '20k', '1P']));
});
