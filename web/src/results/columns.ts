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
  group: 'pass' | 'total' | 'device';
  title: string;
  estimate: (row: Row) => Estimate | undefined;
  format: (value: number) => string;
  /** Larger is better: sorts downwards at first. */
  more_is_better?: boolean;
}

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

export const kColumns: readonly Column[] = [
  metric_column('latency_ms', { key: 'latency', label: 'Latency', format: format.sig }),
  metric_column('ttft_ms', { key: 'ttft', label: 'TTFT', format: format.sig }),
  metric_column('tpot_ms', { key: 'tpot', label: 'TPOT', format: format.sig }),
  metric_column('throughput_per_s', { key: 'throughput', label: 'Throughput', format: format.sig }),
  metric_column('tokens_per_s', { key: 'tokens', label: 'Tokens', format: format.sig }),
  metric_column('request_latency_ms', { key: 'request', label: 'Request', format: format.sig }),
  metric_column('energy_per_token_j', { key: 'token_energy', label: 'Per token', unit: '', format: format.joules }),
  metric_column('device_memory_mb', { key: 'memory', label: 'Memory', unit: '', title: 'What the whole process occupies on the device, against what the device has', estimate: (row) => row.result.estimates.device_memory_mb ?? row.result.estimates.memory_mb, format: format.megabytes }),
  metric_column('energy_j', { key: 'energy', label: 'Energy', unit: '', title: 'Board energy of one pass or step; eager runs of the H200 as measured, with the 4.2 ms that reading the counter took after each', format: format.joules }),
  metric_column('power_w', { key: 'power', label: 'Power', format: format.sig }),
  { key: 'total_time', label: 'Time', unit: '', group: 'total', title: 'Time for all samples', estimate: total_seconds, format: format.seconds },
  { key: 'total_energy', label: 'Energy', unit: '', group: 'total', title: 'Board energy for all samples', estimate: (row) => scale_estimate(row.result.estimates.energy_j, passes(row)), format: format.watt_hours },
  { key: 'cost', label: 'Price', unit: '', group: 'total', title: 'Rent of the device for all samples', estimate: total_dollars, format: format.dollars },
  { key: 'carbon', label: 'CO₂', unit: '', group: 'total', title: 'Carbon dioxide for all samples on the grid of the region', estimate: total_grams, format: format.grams },
];

/** Sort keys beside the columns' own. */
export function sort_value(row: Row, key: string): number | string | undefined {
  if (key === 'device') return device_name(row);
  if (key === 'fits') return row.result.advice?.fits === undefined ? undefined : row.result.advice.fits ? 0 : 1;
  if (key === 'rent') return row.result.advice?.usd_per_hour;
  if (key === 'mig') return row.result.advice?.mig?.profile;
  return kColumns.find((column) => column.key === key)?.estimate(row)?.value;
}

/** A sorted copy; rows without a value come last in either direction. */
export function sort_rows(rows: readonly Row[], key: string, descending: boolean): Row[] {
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
