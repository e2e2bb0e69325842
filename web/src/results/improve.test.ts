import { describe, expect, it } from 'vitest';
import { patch_of, type Change } from './improve.ts';

const change = (more: Partial<Change>): Change => ({
  number: 1, settings: {}, edits: [], copies: 1, risk: 'none', factor: 2, factor_low: 1, factor_high: 3,
  after: { value: 1, low: 1, high: 1, basis: 'learned', predictor: 'trees' }, ...more,
});

describe('a proposal as fields of the page', () => {
  it('takes settings that have a control', () => {
    expect(patch_of(change({ settings: { batch: '64', precision: 'bf16' } }))).toEqual({ batch: 64, precision: 'bf16' });
    expect(patch_of(change({ settings: { device: 'l4' } }))).toEqual({ devices: ['l4'] });
  });
  it('leaves what the page cannot ask', () => {
    expect(patch_of(change({ settings: { 'last-logits': '' } }))).toBeNull();
    expect(patch_of(change({ edits: ['fold-norms'] }))).toBeNull();
    expect(patch_of(change({ settings: { device: 'l4:1g' }, copies: 7 }))).toBeNull();
  });
});
