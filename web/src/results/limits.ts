// Limits that a device must keep: judged on the estimates that are shown, so that a slider colours the table at once.
import type { Estimate } from '../api.ts';
import * as format from '../format.ts';
import type { View } from '../state.ts';
import type { Row } from './columns.ts';

export type LimitField = 'max_latency_ms' | 'min_throughput' | 'max_usd_per_hour' | 'slo_ttft_ms' | 'slo_tpot_ms';

export interface Limit {
  field: LimitField;
  label: string;
  unit: string;
  /** The column that it colours. */
  column: string;
  is_most: boolean;
  serving: boolean | null;
  range: readonly [number, number];
  help: string;
  value_of: (row: Row) => Estimate | undefined;
}

const exact = (value: number | undefined): Estimate | undefined =>
  value === undefined ? undefined : { value, low: value, high: value, basis: 'measured', predictor: '' };

export const kLimits: readonly Limit[] = [
  { field: 'max_latency_ms', label: 'Latency at most', unit: 'ms', column: 'latency', is_most: true, serving: false, range: [0.1, 10_000], help: 'One pass over the batch, or one training step, may take so long. 33 ms are 30 frames a second.', value_of: (row) => row.result.estimates.latency_ms },
  { field: 'min_throughput', label: 'At least', unit: '/s', column: 'throughput', is_most: false, serving: false, range: [1, 1_000_000], help: 'Samples that a device must process in a second.', value_of: (row) => row.result.estimates.throughput_per_s },
  { field: 'slo_ttft_ms', label: 'First token within', unit: 'ms', column: 'ttft', is_most: true, serving: true, range: [10, 100_000], help: 'Time from sending a request to its first token, waiting included.', value_of: (row) => row.result.estimates.ttft_ms },
  { field: 'slo_tpot_ms', label: 'Next tokens within', unit: 'ms', column: 'tpot', is_most: true, serving: true, range: [1, 1_000], help: 'Time from one token to the next. 50 ms are 20 tokens a second, faster than people read.', value_of: (row) => row.result.estimates.tpot_ms },
  { field: 'max_usd_per_hour', label: 'Rent at most', unit: '$/h', column: 'rent', is_most: true, serving: null, range: [0.05, 100], help: 'Price of the device for an hour.', value_of: (row) => exact(row.result.advice?.usd_per_hour) },
];

export type Standing = 'keeps' | 'unsure' | 'misses';

/** Whether an estimate keeps a limit: surely, within its interval, or not. */
export function standing_of(estimate: Estimate | undefined, limit: Limit, asked: number): Standing {
  if (!estimate) return 'unsure';
  const [value, worst] = limit.is_most ? [estimate.value, estimate.high] : [estimate.value, estimate.low];
  const keeps = (number: number) => (limit.is_most ? number <= asked : number >= asked);
  return !keeps(value) ? 'misses' : keeps(worst) ? 'keeps' : 'unsure';
}

export interface Judgement {
  standing: Standing;
  /** By column, for its colour. */
  columns: Map<string, Standing>;
  /** Why it misses, in words; the nearest remedies after it where the server found some. */
  reasons: string[];
}

const kOrder: readonly Standing[] = ['keeps', 'unsure', 'misses'];

export const limits_set = (view: View, is_serving: boolean): Limit[] =>
  kLimits.filter((limit) => view[limit.field] !== null && (limit.serving === null || limit.serving === is_serving));

export function judge(row: Row, view: View, is_serving: boolean): Judgement {
  const columns = new Map<string, Standing>();
  const reasons: string[] = [];
  for (const limit of limits_set(view, is_serving)) {
    const asked = view[limit.field]!;
    const estimate = limit.value_of(row);
    const standing = standing_of(estimate, limit, asked);
    columns.set(limit.column, standing);
    if (standing === 'misses') reasons.push(`${limit.label.toLowerCase()} ${format.sig(asked)} ${limit.unit}: ${format.sig(estimate!.value)}`);
  }
  if (row.result.advice?.fits === false) {
    columns.set('fits', 'misses');
    reasons.unshift('does not fit into its memory');
  }
  reasons.push(...(row.result.limits?.remedies ?? []).map((remedy) => remedy.text));
  const standing = [...columns.values()].reduce<Standing>((worst, one) => (kOrder.indexOf(one) > kOrder.indexOf(worst) ? one : worst), 'keeps');
  return { standing, columns, reasons };
}
