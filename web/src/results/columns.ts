// What the table, the sweep and the exports show for a device: one row per quantity.
import type { Device, DeviceResult, Estimate } from '../api.ts';
import * as format from '../format.ts';
import { kMetricTable, type MetricKey } from '../metrics.ts';

export interface Row {
  result: DeviceResult;
  device: Device | undefined;
  /** What was answered for, which the form may have left behind by now. */
  batch: number;
  samples: number;
}

export interface Column {
  key: string;
  label: string;
  unit: string;
  group: 'pass' | 'total' | 'serving';
  /** Where there is no room for all: the smallest stay. */
  rank: number;
  title: string;
  estimate: (row: Row) => Estimate | undefined;
  format: (value: number) => string;
  /** Larger is better: sorts downwards at first. */
  more_is_better?: boolean;
}

/** Whether the answer is about a serving engine under load. */
export const is_serving_row = (row: Row): boolean => row.result.estimates.ttft_ms !== undefined || row.result.estimates.tokens_per_s !== undefined || row.result.serving !== undefined;

export function scale_estimate(estimate: Estimate | undefined, factor: number): Estimate | undefined {
  if (!estimate || !Number.isFinite(factor)) return undefined;
  return { ...estimate, value: estimate.value * factor, low: estimate.low * factor, high: estimate.high * factor };
}

/** A column of one metric: unit and direction as the table of metrics has them. */
function metric_column(metric: MetricKey, column: Pick<Column, 'key' | 'label' | 'format'> & Partial<Column>): Column {
  const { label, unit, better, meaning } = kMetricTable[metric];
  return {
    unit,
    group: 'pass',
    rank: 9,
    title: `${label.charAt(0).toUpperCase()}${label.slice(1)}: ${meaning}`,
    estimate: (row) => row.result.estimates[metric],
    more_is_better: better === 'higher',
    ...column,
  };
}

/** Passes over whole batches: the last one runs even if it is not full. */
const passes = (row: Row): number => Math.ceil(row.samples / row.batch);

/** The device's name without its maker's. */
export function short_name(device: Device): string {
  const prefix = `${device.maker} `;
  return device.name.startsWith(prefix) ? device.name.slice(prefix.length) : device.name;
}

export const device_name = (row: Row): string => (row.device ? short_name(row.device) : row.result.device);

export const total_seconds = (row: Row): Estimate | undefined =>
  scale_estimate(row.result.estimates.latency_ms, passes(row) / 1e3);

function total_dollars(row: Row): Estimate | undefined {
  const per_hour = row.result.advice?.usd_per_hour;
  return per_hour === undefined ? undefined : scale_estimate(total_seconds(row), per_hour / 3600);
}

/** Carbon grows with energy, so its interval is the energy's. */
function total_grams(row: Row): Estimate | undefined {
  const per_million = row.result.advice?.co2_g_per_million;
  const energy = row.result.estimates.energy_j;
  if (per_million === undefined || !energy) return undefined;
  return scale_estimate(energy, (per_million * passes(row) * row.batch) / 1e6 / energy.value);
}

/** A figure of the advice that has no interval of its own. */
function known(value: number | undefined, like: Estimate | undefined): Estimate | undefined {
  if (value === undefined) return undefined;
  const ratio = like && like.value > 0 ? [like.value / like.high, like.value / like.low] : [1, 1];
  return { value, low: value * ratio[0]!, high: value * ratio[1]!, basis: like?.basis ?? 'measured', predictor: like?.predictor ?? '' };
}

export const kColumns: readonly Column[] = [
  metric_column('latency_ms', { key: 'latency', label: 'Latency', rank: 1, format: format.sig }),
  metric_column('ttft_ms', { key: 'ttft', label: 'First token', group: 'serving', rank: 1, format: format.sig }),
  metric_column('tpot_ms', { key: 'tpot', label: 'Next token', group: 'serving', rank: 2, format: format.sig }),
  metric_column('throughput_per_s', { key: 'throughput', label: 'Throughput', rank: 3, format: format.sig }),
  metric_column('tokens_per_s', { key: 'tokens', label: 'Tokens', group: 'serving', rank: 3, format: format.sig }),
  metric_column('request_latency_ms', { key: 'request', label: 'Request', group: 'serving', rank: 8, format: format.sig }),
  metric_column('energy_per_token_j', { key: 'token_energy', label: 'Per token', group: 'serving', rank: 10, unit: '', format: format.joules }),
  metric_column('device_memory_mb', { key: 'memory', label: 'Memory', rank: 4, unit: '', title: 'What the whole process occupies on the device, against what the device has', estimate: (row) => row.result.estimates.device_memory_mb ?? row.result.estimates.memory_mb, format: format.megabytes }),
  metric_column('serving_memory_mb', { key: 'serving_memory', label: 'Memory', group: 'serving', rank: 4, unit: '', title: 'What the engine needs on one device: weights, activations and the KV caches of the requests in flight', format: format.megabytes }),
  metric_column('energy_j', { key: 'energy', label: 'Energy', rank: 8, unit: '', title: 'Board energy of one pass or step', format: format.joules }),
  metric_column('power_w', { key: 'power', label: 'Power', rank: 7, format: format.sig }),
  { key: 'total_time', label: 'Time', unit: '', group: 'total', rank: 10, title: 'Time for all samples', estimate: total_seconds, format: format.seconds },
  { key: 'total_energy', label: 'Energy', unit: '', group: 'total', rank: 11, title: 'Board energy for all samples', estimate: (row) => scale_estimate(row.result.estimates.energy_j, passes(row)), format: format.watt_hours },
  { key: 'cost', label: 'Price', unit: '', group: 'total', rank: 2, title: 'Rent of the device for all samples', estimate: total_dollars, format: format.dollars },
  { key: 'carbon', label: 'CO₂', unit: '', group: 'total', rank: 9, title: 'Carbon dioxide for all samples on the grid of the region', estimate: total_grams, format: format.grams },
  { key: 'token_cost', label: 'Price', unit: '/M', group: 'serving', rank: 3.5, title: 'Rent of the device for a million generated tokens', estimate: (row) => known(row.result.advice?.usd_per_million, row.result.estimates.tokens_per_s), format: format.dollars },
  { key: 'token_carbon', label: 'CO₂', unit: '/M', group: 'serving', rank: 9, title: 'Carbon dioxide for a million generated tokens', estimate: (row) => known(row.result.advice?.co2_g_per_million, row.result.estimates.energy_per_token_j), format: format.grams },
];

/** Of one kind of answer: a serving engine's, or those of a pass. */
export function columns_of(rows: readonly Row[]): Column[] {
  const serving = rows.some(is_serving_row);
  return kColumns.filter((column) => (column.group === 'serving') === serving && rows.some((row) => column.estimate(row)));
}

const kNameWidth = 256; // with the column that says whether it holds
const kColumnWidth = 93;
const kMemoryWidth = 142; // with what the device has
/** A narrower table has no rent and no MIG slices. */
export const kWideTable = 600;

/** As many as there is room for, the most important ones, in their order; rent and MIG count as columns too. */
export function columns_that_fit(columns: readonly Column[], others: number, width: number): Column[] {
  let room = width - kNameWidth - others * kColumnWidth;
  const kept = new Set<Column>();
  for (const column of [...columns].sort((a, b) => a.rank - b.rank)) {
    room -= column.key.endsWith('memory') ? kMemoryWidth : kColumnWidth;
    if (room < 0 && kept.size >= 2) break;
    kept.add(column);
  }
  return columns.filter((column) => kept.has(column));
}

/** What the table is sorted by: what the user chose where it is known here, else what matters first. */
export function sort_key(rows: readonly Row[], key: string): string {
  if (rows.some((row) => sort_value(row, key) !== undefined)) return key;
  return rows.some(is_serving_row) ? 'token_cost' : 'latency';
}

/** Sort keys beside the columns' own. */
export function sort_value(row: Row, key: string): number | string | undefined {
  if (key === 'device') return device_name(row);
  if (key === 'fits') return row.result.advice?.fits === undefined ? undefined : row.result.advice.fits ? 0 : 1;
  if (key === 'rent') return row.result.advice?.usd_per_hour;
  if (key === 'mig') return row.result.advice?.mig?.profile;
  return kColumns.find((column) => column.key === key)?.estimate(row)?.value;
}

/** A sorted copy; rows without a value come last in either direction. */
export function sort_rows(rows: readonly Row[], wanted: string, descending: boolean): Row[] {
  const key = sort_key(rows, wanted);
  return [...rows].sort((a, b) => {
    const left = sort_value(a, key);
    const right = sort_value(b, key);
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    const order =
      typeof left === 'string' || typeof right === 'string'
        ? String(left).localeCompare(String(right), 'en', { numeric: true })
        : left - right;
    return descending ? -order : order;
  });
}
