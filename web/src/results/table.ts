// The sortable table of devices: each value with its interval drawn under it.
import type { Estimate, WorkloadSummary } from '../api.ts';
import { h, s, sr_only } from '../dom.ts';
import * as format from '../format.ts';
import { facts, attach_tooltip } from '../plot/tooltip.ts';
import { extent, linear, log, log_padded, type Scale } from '../plot/scale.ts';
import type { View } from '../state.ts';
import { columns_of, columns_that_fit, device_name, is_serving_row, kWideTable, sort_key, sort_rows, type Column, type Row } from './columns.ts';
import { judge, type Judgement } from './limits.ts';

const kBarWidth = 54;
/** Above this ratio a bar from zero hides the small values, so the axis turns logarithmic. */
const kLogRatio = 25;

interface BarAxis {
  scale: Scale;
  is_log: boolean;
}

/** Memory is drawn against what the device has. */
function capacity_axis(row: Row): BarAxis | null {
  return row.device ? { scale: linear([0, row.device.memory_gib * 1024], [1, kBarWidth - 1]), is_log: false } : null;
}

function bar_axis(column: Column, rows: readonly Row[]): BarAxis | null {
  const estimates = rows.map((row) => column.estimate(row)).filter((e): e is Estimate => e !== undefined && e.value > 0);
  const ends = extent(estimates.flatMap((e) => [e.low > 0 ? e.low : e.value, e.high, e.value]));
  if (!ends || !(ends[1] > 0)) return null;
  const values = extent(estimates.map((e) => e.value))!;
  const range = [2, kBarWidth - 2] as const;
  if (values[1] / values[0] > kLogRatio) return { scale: log(log_padded(ends, 0.04), range), is_log: true };
  return { scale: linear([0, ends[1]], range), is_log: false };
}

/** The mark in the middle tells the basis: filled = learned, square = measured, hollow = roofline. */
export function basis_mark(basis: string, x: number, y: number): SVGElement {
  if (basis === 'measured') return s('rect', { class: 'mark measured', x: x - 2.5, y: y - 2.5, width: 5, height: 5 });
  return s('circle', { class: `mark ${basis}`, cx: x, cy: y, r: 2.3 });
}

function error_bar(estimate: Estimate, axis: BarAxis): SVGSVGElement {
  const { scale, is_log } = axis;
  const clamp = (value: number) => Math.min(kBarWidth - 1, Math.max(1, scale(Math.max(value, scale.domain[0] || 0))));
  const [low, mid, high] = [clamp(estimate.low), clamp(estimate.value), clamp(estimate.high)];
  const y = 5;
  return s(
    'svg',
    { class: 'error-bar', width: kBarWidth, height: 10, viewBox: `0 0 ${kBarWidth} 10`, 'aria-hidden': 'true' },
    s('line', { class: 'track', x1: 1, x2: kBarWidth - 1, y1: y, y2: y }),
    !is_log && s('line', { class: 'magnitude', x1: 1, x2: mid, y1: y, y2: y }),
    s('path', { class: 'whisker', d: `M${low} ${y - 3}v6M${low} ${y}H${high}M${high} ${y - 3}v6` }),
    basis_mark(estimate.basis, mid, y),
  );
}

const is_memory = (column: Column): boolean => column.key === 'memory' || column.key === 'serving_memory';

function memory_extra(row: Row): HTMLElement | null {
  if (!row.device) return null;
  return h('span', { class: 'of' }, ` / ${format.sig(row.device.memory_gib)} GB`);
}

function rent_of(row: Row): string | undefined {
  const advice = row.result.advice;
  if (advice?.usd_per_hour === undefined) return undefined;
  const when = advice.price_date ? `, ${advice.price_kind === 'spot' ? 'spot' : 'on demand'} ${advice.price_date}` : '';
  return `${format.dollars(advice.usd_per_hour)} an hour${when}`;
}

function estimate_cell(column: Column, row: Row, axis: BarAxis | null, judged: Judgement): HTMLTableCellElement {
  const estimate = column.estimate(row);
  if (!estimate) return h('td', { class: 'num none' }, h('span', { 'aria-hidden': 'true' }, '–'), sr_only('not estimated'));
  const bars = is_memory(column) ? capacity_axis(row) : axis;
  const standing = judged.columns.get(column.key);
  const unit = column.unit && column.unit !== '/s' ? ` ${column.unit}` : column.unit;
  const spoken = `, 90 % interval ${column.format(estimate.low)} to ${column.format(estimate.high)}, ${estimate.basis}`;
  const cell = h(
    'td',
    { class: `num ${standing ?? ''}` },
    h('span', { class: 'value' }, column.format(estimate.value), is_memory(column) && memory_extra(row)),
    sr_only(spoken + (standing ? `, ${standing === 'unsure' ? 'may miss the limit' : `${standing} the limit`}` : '')),
    bars && error_bar(estimate, bars),
  );
  const allocator = column.key === 'memory' ? row.result.estimates.memory_mb : undefined;
  attach_tooltip(cell, () =>
    facts(`${device_name(row)}: ${column.label.toLowerCase()}`, [
      ['value', column.format(estimate.value) + unit],
      ['90 % interval', `${column.format(estimate.low)} – ${column.format(estimate.high)}${unit}`],
      ['allocator holds', allocator && format.megabytes(allocator.value)],
      ['rent', column.key === 'cost' ? rent_of(row) : undefined],
      ['grid', column.key === 'carbon' ? row.result.advice?.region : undefined],
      ['rests on', estimate.trust ?? estimate.basis],
      ['predictor', estimate.predictor],
    ], column.title),
  );
  return cell;
}

const kStandings = { keeps: ['✓', 'holds'], unsure: ['?', 'may miss'], misses: ['✕', 'misses'] } as const;

/** Whether it fits and keeps the limits, and why not. */
function holds_cell(row: Row, judged: Judgement): HTMLTableCellElement {
  const fits = row.result.advice?.fits;
  if (fits === undefined) return h('td', { class: 'none' }, '–');
  const [sign, word] = kStandings[judged.standing];
  const text = judged.standing === 'keeps' ? 'holds' : fits ? word : 'too large';
  const cell = h('td', { class: `fits ${judged.standing}` }, h('span', { 'aria-hidden': 'true' }, sign), h('span', { class: judged.standing === 'keeps' ? 'sr-only' : 'why' }, text));
  if (judged.reasons.length) attach_tooltip(cell, () => facts(`${device_name(row)}: ${text}`, [], judged.reasons.join('; ')));
  return cell;
}

function mig_cell(row: Row): HTMLTableCellElement {
  const mig = row.result.advice?.mig;
  if (!mig) return h('td', { class: 'none' }, h('span', { 'aria-hidden': 'true' }, '–'), sr_only('no MIG profile'));
  const cell = h('td', { class: 'mig' }, h('code', {}, mig.profile), h('small', {}, `${mig.instances} per device`));
  attach_tooltip(cell, () => facts(`MIG ${mig.profile}`, [['instances', String(mig.instances)]], mig.why));
  return cell;
}

export interface TableEvents {
  on_sort: (key: string) => void;
  on_focus: (device: string) => void;
  on_all_columns: () => void;
}

/** `width`: what there is room for; infinite where all columns are asked for, and the table scrolls. */
export function render_table(rows: readonly Row[], view: View, workload: WorkloadSummary, focus: string, width: number, events: TableEvents): HTMLElement {
  const is_serving = rows.some(is_serving_row);
  const all = columns_of(rows);
  const show_mig = width > kWideTable && rows.some((row) => row.result.advice?.mig);
  const show_rent = width > kWideTable && rows.some((row) => row.result.advice?.usd_per_hour !== undefined);
  const others = Number(show_mig) + Number(show_rent);
  const columns = columns_that_fit(all, others, width);
  const sorted_by = sort_key(rows, view.sort);
  const axes = new Map(columns.map((column) => [column.key, bar_axis(column, rows)]));
  const first_group = is_serving ? 'serving' : 'pass';
  const span = (group: Column['group']) => columns.filter((column) => column.group === group).length;

  const heading = (key: string, label: string, unit: string, title: string, class_name = '') =>
    h(
      'th',
      { scope: 'col', class: class_name, 'aria-sort': sorted_by === key ? (view.descending ? 'descending' : 'ascending') : 'none' },
      h(
        'button',
        { type: 'button', title, 'data-sort': key, onclick: () => events.on_sort(key) },
        label,
        unit && h('span', { class: 'unit' }, unit),
        h('span', { class: 'arrow', 'aria-hidden': 'true' }, sorted_by === key ? (view.descending ? '▼' : '▲') : ''),
      ),
    );

  const body = sort_rows(rows, view.sort, view.descending).map((row) => {
    const id = row.result.device;
    const judged = judge(row, view, is_serving);
    // What is true of every device is said once below the table.
    const own = (row.result.warnings ?? []).filter((text) => rows.length === 1 || !rows.every((other) => other.result.warnings?.includes(text)));
    return h(
      'tr',
      { class: [id === focus && 'focused', judged.standing === 'misses' && 'unfit'].filter(Boolean).join(' '), 'data-device': id, onclick: () => events.on_focus(id) },
      h(
        'th',
        { scope: 'row' },
        h(
          'label',
          { class: 'device' },
          h('input', { type: 'radio', name: 'focus-device', value: id, checked: id === focus, onchange: () => events.on_focus(id) }),
          h('span', {}, h('span', { class: 'name' }, device_name(row)), h('code', {}, id), judged.standing === 'misses' && h('span', { class: 'missed' }, judged.reasons.slice(0, 2).join('; ')), own.length > 0 && h('span', { class: 'warned', title: own.join('\n') }, `${own.length} warning${own.length > 1 ? 's' : ''}`)),
        ),
      ),
      holds_cell(row, judged),
      ...[first_group, 'total'].flatMap((group) => columns.filter((c) => c.group === group).map((c) => estimate_cell(c, row, axes.get(c.key) ?? null, judged))),
      show_rent && h('td', { class: `num ${judged.columns.get('rent') ?? ''}` }, row.result.advice?.usd_per_hour === undefined ? '–' : format.dollars(row.result.advice.usd_per_hour)),
      show_mig && mig_cell(row),
    );
  });

  const column_heading = (column: Column) =>
    heading(column.key, column.key === 'latency' && workload.training ? 'Step' : column.label, column.unit, column.title + (!is_memory(column) && axes.get(column.key)?.is_log ? ' (bars on a logarithmic scale)' : ''), 'num');

  const dropped = all.length - columns.length;
  const table = fade_when_cut(h(
    'div',
    { class: 'scroll table-scroll', tabindex: 0, role: 'region', 'aria-label': 'Devices, scrolls sideways' },
    h(
      'table',
      { class: 'devices' },
      h('caption', { class: 'sr-only' }, 'Estimates per device. Column headings sort; the radio button of a row chooses the device for the plots below.'),
      h(
        'thead',
        {},
        h(
          'tr',
          { class: 'groups' },
          h('td', {}),
          h('td', {}),
          h('th', { scope: 'colgroup', colspan: span(first_group) }, is_serving ? 'Under the load' : `Per ${workload.training ? 'step' : 'batch'} of ${workload.batch}`),
          span('total') > 0 && h('th', { scope: 'colgroup', colspan: span('total') }, `For ${format.whole(view.samples)} samples`),
          (show_rent || show_mig) && h('td', { colspan: Number(show_rent) + Number(show_mig) }),
        ),
        h(
          'tr',
          {},
          heading('device', 'Device', '', 'Name of the device'),
          heading('fits', 'Holds', '', 'Whether it fits into the device’s memory and keeps the limits'),
          ...columns.filter((c) => c.group === first_group).map(column_heading),
          ...columns.filter((c) => c.group === 'total').map(column_heading),
          show_rent && heading('rent', 'Rent', '/h', 'Price of the device per hour', 'num'),
          show_mig && heading('mig', 'MIG', '', 'Smallest MIG profile that holds it'),
        ),
      ),
      h('tbody', {}, ...body),
    ),
  ));
  if (!dropped) return table;
  const names = all.filter((column) => !columns.includes(column)).map((column) => column.label.toLowerCase());
  return h('div', {}, table, h('p', { class: 'note' }, `No room for ${names.join(', ')}. `, h('button', { type: 'button', class: 'quiet', id: 'all-columns', onclick: events.on_all_columns }, 'Show all columns')));
}

/** Fades the right edge while columns lie beyond it, so that one sees there is more. */
function fade_when_cut(element: HTMLElement): HTMLElement {
  const update = () => element.classList.toggle('cut', element.scrollLeft + element.clientWidth < element.scrollWidth - 4);
  element.addEventListener('scroll', update, { passive: true });
  new ResizeObserver(update).observe(element);
  return element;
}
