// Where the time goes: bars per kernel or per operator, and one stacked bar per bound.
import type { DeviceResult, Kernel } from '../api.ts';
import { check_radio, h, segmented } from '../dom.ts';
import * as format from '../format.ts';
import { data_table, legend } from '../plot/frame.ts';
import { attach_tooltip, facts } from '../plot/tooltip.ts';
import { bound_label, bounds_in } from './bounds.ts';

const kFirst = 12;

export interface Slice {
  name: string;
  detail: string;
  launches: number;
  time_ms: number;
  flops: number;
  bytes: number;
  /** Time per bound; the bar's colours. */
  by_bound: Record<string, number>;
}

/** Kernels of one name, or of one leading operator, added up; the slowest first. */
export function slices_of(kernels: readonly Kernel[], by: 'kernel' | 'operator'): Slice[] {
  const slices = new Map<string, Slice>();
  for (const k of kernels) {
    const name = by === 'kernel' ? k.kernel : k.operators.join(' + ') || k.kernel;
    const slice = slices.get(name) ?? { name, detail: by === 'kernel' ? k.operators.join(', ') : k.kernel, launches: 0, time_ms: 0, flops: 0, bytes: 0, by_bound: {} };
    slice.launches += k.count;
    slice.time_ms += k.time_ms;
    slice.flops += k.flops;
    slice.bytes += k.bytes;
    slice.by_bound[k.bound] = (slice.by_bound[k.bound] ?? 0) + k.time_ms;
    slices.set(name, slice);
  }
  return [...slices.values()].sort((a, b) => b.time_ms - a.time_ms);
}

const width_of = (share: number): string => `${Math.max(0, share * 100).toFixed(3)}%`;

function segment(bound: string, share: number): HTMLElement {
  const element = h('span', { class: `segment ${bound}` });
  element.style.width = width_of(share);
  return element;
}

function bar_row(slice: Slice, total_ms: number, largest_ms: number): HTMLElement {
  const row = h(
    'li',
    { class: 'bar-row' },
    h('span', { class: 'bar-name', title: slice.name }, slice.name),
    h('span', { class: 'bar', 'aria-hidden': 'true' }, ...Object.entries(slice.by_bound).map(([bound, ms]) => segment(bound, ms / largest_ms))),
    h('span', { class: 'bar-value' }, format.milliseconds(slice.time_ms), h('small', {}, format.percent(slice.time_ms / total_ms))),
  );
  attach_tooltip(row, () =>
    facts(slice.name, [
      ['from', slice.detail === slice.name ? undefined : slice.detail],
      ['launches', format.count(slice.launches)],
      ['time', `${format.milliseconds(slice.time_ms)} (${format.percent(slice.time_ms / total_ms)})`],
      ['work', `${format.count(slice.flops)}FLOP`],
      ['traffic', format.bytes(slice.bytes)],
      ...Object.entries(slice.by_bound).map(([bound, ms]) => [bound_label(bound), format.milliseconds(ms)] as const),
    ]),
  );
  return row;
}

export function render_breakdown(result: DeviceResult, device_name: string, by: string, on_by: (by: string) => void): HTMLElement {
  const kernels = result.breakdown ?? [];
  if (!kernels.length) return h('p', { class: 'empty' }, 'This answer has no breakdown into kernels.');
  const slices = slices_of(kernels, by === 'operator' ? 'operator' : 'kernel');
  const total_ms = kernels.reduce((sum, k) => sum + k.time_ms, 0);
  const by_bound = new Map<string, number>();
  for (const k of kernels) by_bound.set(k.bound, (by_bound.get(k.bound) ?? 0) + k.time_ms);
  const largest = slices[0]?.time_ms || 1;

  const switcher = segmented('Group by', 'kernels-by', [{ value: 'kernel', label: 'Kernel' }, { value: 'operator', label: 'Operator' }], on_by);
  check_radio(switcher, by === 'operator' ? 'operator' : 'kernel');

  const list = h('ol', { class: 'bars' }, ...slices.slice(0, kFirst).map((slice) => bar_row(slice, total_ms, largest)));
  const rest = slices.slice(kFirst);
  const rest_ms = rest.reduce((sum, slice) => sum + slice.time_ms, 0);
  const more = rest.length
    ? h('button', { type: 'button', class: 'quiet', onclick: () => { list.append(...rest.map((slice) => bar_row(slice, total_ms, largest))); more?.remove(); } }, `Show ${rest.length} more (${format.percent(rest_ms / total_ms)} of the time)`)
    : null;

  const present = bounds_in(by_bound.keys());
  return h(
    'div',
    {},
    h('div', { class: 'plot-controls' }, switcher),
    h('div', { class: 'stack', 'aria-hidden': 'true' }, ...present.map((bound) => segment(bound, by_bound.get(bound)! / total_ms))),
    legend(present.map((bound) => ({ label: `${bound_label(bound)} ${format.percent(by_bound.get(bound)! / total_ms)}`, swatch: bound }))),
    list,
    more,
    data_table(
      `Time per ${by} on ${device_name}`,
      [by === 'operator' ? 'Operator' : 'Kernel', 'Launches', 'Time', 'Share', 'Work (FLOP)', 'Traffic'],
      slices.map((slice) => [slice.name, String(slice.launches), format.milliseconds(slice.time_ms), format.percent(slice.time_ms / total_ms), format.count(slice.flops), format.bytes(slice.bytes)]),
    ),
  );
}
