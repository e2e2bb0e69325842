import { describe, expect, it } from 'vitest';
import type { Device, DeviceResult, Kernel } from '../api.ts';
import { matching_devices, usual_devices } from '../form/device_picker.ts';
import { config_problem, matching_networks } from '../form/network_picker.ts';
import { kDefaults } from '../state.ts';
import { slices_of } from './breakdown.ts';
import { kColumns, sort_rows, type Row } from './columns.ts';
import { pareto_front, points_of } from './compare.ts';
import { to_csv } from './exports.ts';
import { attainable, ceilings_of, dots_of } from './roofline.ts';
import { focus_of, group_warnings } from './results.ts';
import { kMetrics, lines_of } from './sweep.ts';

const estimate = (value: number) => ({ value, low: value * 0.9, high: value * 1.2, basis: 'learned' as const, predictor: 'trees' });

function row(device: string, latency: number, change: Partial<DeviceResult> = {}, samples = 8000): Row {
  const result: DeviceResult = {
    device,
    estimates: { latency_ms: estimate(latency), energy_j: estimate(latency / 10), device_memory_mb: estimate(900) },
    advice: { fits: true, usd_per_hour: 3.6, usd_per_million: latency, co2_g_per_million: 50 },
    warnings: [],
    ...change,
  };
  return { result, device: undefined, batch: 8, samples };
}

const device = (change: Partial<Device>): Device => ({ id: 'x', name: 'X', maker: 'NVIDIA', peak_tflops: { fp32: 10 }, memory_gib: 16, memory_bandwidth_gb_per_s: 300, ...change });
const kernel = (change: Partial<Kernel>): Kernel => ({ kernel: 'k', operators: ['Conv'], count: 1, time_ms: 1, bound: 'compute', flops: 1e9, bytes: 1e7, ...change });
const column = (key: string) => kColumns.find((c) => c.key === key)!;

describe('columns', () => {
  it('totals scale value and interval by the number of passes', () => {
    const total = column('total_time').estimate(row('a', 2))!;
    expect(total.value).toBeCloseTo(2);
    expect(total.high).toBeCloseTo(2.4);
  });
  it('the price of all samples is the rent times the time', () => expect(column('cost').estimate(row('a', 3_600_000, {}, 8))!.value).toBeCloseTo(3.6));
  it('carbon has the energy’s interval', () => {
    const carbon = column('carbon').estimate(row('a', 2))!;
    expect(carbon.value).toBeCloseTo(0.4);
    expect(carbon.low).toBeCloseTo(0.36);
  });
  it('a quantity that was not estimated stays absent', () => expect(column('cost').estimate(row('a', 2, { advice: {} }))).toBeUndefined());
});

describe('sorting', () => {
  const rows = [row('a', 3), row('b', 1), row('c', 2, { estimates: {} })];
  it('goes both ways and keeps absent values last', () => {
    expect(sort_rows(rows, 'latency', false).map((r) => r.result.device)).toEqual(['b', 'a', 'c']);
    expect(sort_rows(rows, 'latency', true).map((r) => r.result.device)).toEqual(['a', 'b', 'c']);
  });
  it('orders names as people do', () => expect(sort_rows([row('a10', 1), row('a2', 1)], 'device', false).map((r) => r.result.device)).toEqual(['a2', 'a10']));
  it('the plots start with the first device that fits', () => {
    const unfit = row('z', 0.5, { advice: { fits: false } });
    expect(focus_of([unfit, ...rows], kDefaults)?.result.device).toBe('b');
    expect(focus_of([unfit, ...rows], { ...kDefaults, focus: 'z' })?.result.device).toBe('z');
  });
});

describe('warnings', () => {
  it('are said once, with the devices they are of', () => {
    const rows = [row('a', 1, { warnings: ['all', 'one'] }), row('b', 1, { warnings: ['all'] })];
    expect(group_warnings(rows)).toEqual([{ text: 'all', devices: [] }, { text: 'one', devices: ['a'] }]);
  });
});

describe('CSV', () => {
  it('has a line per device and quotes what needs it', () => {
    const csv = to_csv([row('a', 2, { warnings: ['x, "y"'] })]);
    const [head, line, end] = csv.split('\n');
    expect(head).toContain('latency_ms,latency_ms_low,latency_ms_high,latency_basis');
    expect(line).toMatch(/^a,2,1.8,2.4,learned/);
    expect(line).toContain('"x, ""y"""');
    expect(end).toBe('');
  });
});

describe('roofline', () => {
  it('takes the ceiling of the precision and falls back to fp32', () => {
    const tensor = device({ peak_tflops: { fp32: 10, fp16_tensor: 100 } });
    expect(ceilings_of(tensor, 'fp16').map((c) => c.flops_per_s)).toEqual([1e14, 1e13]);
    expect(ceilings_of(device({}), 'fp16').map((c) => c.name)).toEqual(['fp32']);
  });
  it('draws only kernels that have arithmetic', () => {
    const dots = dots_of([kernel({}), kernel({ flops: 0 })]);
    expect(dots).toHaveLength(1);
    expect(dots[0]).toMatchObject({ intensity: 100, flops_per_s: 1e12 });
  });
  it('the roof is the lower of both', () => expect([attainable(1, 10, 50), attainable(100, 10, 50)]).toEqual([10, 50]));
});

describe('breakdown', () => {
  it('adds up kernels of one name, the slowest first', () => {
    const slices = slices_of([kernel({ kernel: 'a' }), kernel({ kernel: 'b', time_ms: 5 }), kernel({ kernel: 'a', bound: 'memory' })], 'kernel');
    expect(slices.map((s) => [s.name, s.time_ms])).toEqual([['b', 5], ['a', 2]]);
    expect(slices[1]!.by_bound).toEqual({ compute: 1, memory: 1 });
  });
});

describe('comparison', () => {
  it('joins only what nothing else beats, and never what does not fit', () => {
    const rows = [row('slow-cheap', 9, { advice: { usd_per_hour: 1 } }), row('fast-dear', 1, { advice: { usd_per_hour: 9 } }), row('worse', 9.5, { advice: { usd_per_hour: 5 } }), row('unfit', 0.1, { advice: { usd_per_hour: 0.1, fits: false } }), row('unpriced', 1, { advice: {} })];
    const points = points_of(rows, 'usd_per_hour');
    expect(points).toHaveLength(4);
    expect(pareto_front(points).map((p) => p.id)).toEqual(['slow-cheap', 'fast-dear']);
  });
});

describe('sweep', () => {
  it('makes a line per device out of the answers', () => {
    const report = (batch: number) => ({ batch, report: { workload: {} as never, results: [row('a', batch).result] } });
    const lines = lines_of([report(1), report(2)], kMetrics.find((m) => m.value === 'energy')!, new Map(), ['a', 'missing']);
    expect(lines).toHaveLength(1);
    expect(lines[0]!.points.map((p) => p.estimate.value)).toEqual([0.1, 0.1]);
  });
});

describe('pickers', () => {
  const devices = [device({ id: 'l4', name: 'L4', architecture: 'Ada' }), device({ id: 'mi210', name: 'MI210', maker: 'AMD' })];
  it('search by any word of maker, name or architecture', () => {
    expect(matching_devices(devices, 'amd').map((d) => d.id)).toEqual(['mi210']);
    expect(matching_devices(devices, 'ada l4').map((d) => d.id)).toEqual(['l4']);
    expect(matching_devices(devices, 'ada amd')).toEqual([]);
  });
  it('start with known devices', () => expect(usual_devices(devices)).toEqual(['l4']));
  it('find networks by task', () => expect(matching_networks([{ name: 'a', task: 'text' }, { name: 'b' }], 'TEXT').map((n) => n.name)).toEqual(['a']));
  it('name what is wrong with a config', () => {
    expect(config_problem('{"a": 1}')).toBe('');
    expect(config_problem('[1]')).toContain('object');
    expect(config_problem('{')).toContain('Not JSON');
  });
});
