// Batch size swept upwards: one line per device with its interval as a band.
import type { Device, Estimate, Estimates, PredictReport } from '../api.ts';
import { h, s, select } from '../dom.ts';
import * as format from '../format.ts';
import { data_table, draw_axes, plot_box, responsive, svg_root } from '../plot/frame.ts';
import { extent, linear, log, log_padded } from '../plot/scale.ts';
import { facts, hide_tooltip, show_tooltip } from '../plot/tooltip.ts';
import { scale_estimate, short_name } from './columns.ts';

export const kSweepBatches = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;
/** More lines than this cannot be told apart. */
export const kMostLines = 6;

export interface SweepPoint {
  batch: number;
  report: PredictReport;
}

interface Metric {
  value: string;
  label: string;
  axis: string;
  of: (estimates: Estimates, batch: number) => Estimate | undefined;
  is_log: boolean;
  format: (value: number) => string;
}

export const kMetrics: readonly Metric[] = [
  { value: 'throughput', label: 'Throughput', axis: 'Samples per second', of: (e) => e.throughput_per_s, is_log: false, format: (v) => `${format.sig(v)} /s` },
  { value: 'latency', label: 'Latency', axis: 'Latency (ms)', of: (e) => e.latency_ms, is_log: true, format: (v) => `${format.sig(v)} ms` },
  { value: 'memory', label: 'Memory', axis: 'Memory (GB)', of: (e) => scale_estimate(e.device_memory_mb ?? e.memory_mb, 1 / 1024), is_log: false, format: (v) => `${format.sig(v)} GB` },
  { value: 'energy', label: 'Energy per sample', axis: 'Energy per sample (J)', of: (e, batch) => scale_estimate(e.energy_j, 1 / batch), is_log: true, format: format.joules },
  { value: 'power', label: 'Power', axis: 'Power (W)', of: (e) => e.power_w, is_log: false, format: (v) => `${format.sig(v)} W` },
];

interface Line {
  id: string;
  name: string;
  points: { batch: number; estimate: Estimate; fits: boolean }[];
}

const name_of = (device: Device | undefined, id: string): string => (device ? short_name(device) : id);

export function lines_of(sweep: readonly SweepPoint[], metric: Metric, devices: ReadonlyMap<string, Device>, ids: readonly string[]): Line[] {
  return ids
    .map((id) => ({
      id,
      name: name_of(devices.get(id), id),
      points: sweep.flatMap(({ batch, report }) => {
        const result = report.results.find((r) => r.device === id);
        const estimate = result && metric.of(result.estimates, batch);
        return result && estimate ? [{ batch, estimate, fits: result.advice?.fits !== false }] : [];
      }),
    }))
    .filter((line) => line.points.length > 0);
}

function draw(width: number, lines: readonly Line[], metric: Metric, current_batch: number): SVGSVGElement {
  const height = Math.round(Math.min(380, Math.max(280, width * 0.62)));
  const box = plot_box(width, height, { left: 62, right: 18 });
  const batches = [...new Set(lines.flatMap((line) => line.points.map((p) => p.batch)))].sort((a, b) => a - b);
  const ends = extent(lines.flatMap((line) => line.points.flatMap((p) => [p.estimate.high, metric.is_log && p.estimate.low <= 0 ? p.estimate.value : p.estimate.low])))!;
  const x = Object.assign(log([batches[0]!, Math.max(batches[batches.length - 1]!, batches[0]! * 2)], [box.left + 6, box.right - 6]), { ticks: batches, minor: [] });
  const y = metric.is_log ? log(log_padded(ends), [box.bottom, box.top], 5) : linear([0, ends[1] * 1.04], [box.bottom, box.top], 5);
  const floor = y.domain[0];
  const at = (value: number) => y(Math.max(value, floor));

  const svg = svg_root(width, height, `${metric.label} against batch size for ${lines.map((line) => line.name).join(', ')}`);
  svg.append(draw_axes(box, { scale: x, label: 'Batch size', format: String }, { scale: y, label: metric.axis }));
  if (batches.includes(current_batch)) svg.append(s('line', { class: 'now', x1: x(current_batch), x2: x(current_batch), y1: box.top, y2: box.bottom, 'aria-hidden': 'true' }));

  const marks = s('g', { 'aria-hidden': 'true' });
  lines.forEach((line, index) => {
    const series = `series-${index}`;
    const forward = line.points.map((p) => `${x(p.batch)} ${at(p.estimate.high)}`);
    const back = [...line.points].reverse().map((p) => `${x(p.batch)} ${at(p.estimate.low)}`);
    marks.append(
      s('path', { class: `band ${series}`, d: `M${[...forward, ...back].join('L')}Z` }),
      s('path', { class: `line ${series}`, d: `M${line.points.map((p) => `${x(p.batch)} ${at(p.estimate.value)}`).join('L')}` }),
    );
    for (const p of line.points) marks.append(s('circle', { class: `sweep-point ${series} ${p.fits ? '' : 'unfit'}`, cx: x(p.batch), cy: at(p.estimate.value), r: 3.2 }));
  });
  const cursor = s('line', { class: 'cursor', y1: box.top, y2: box.bottom, visibility: 'hidden' });
  svg.append(cursor, marks);

  const show = (batch: number, client_x: number, client_y: number) => {
    cursor.setAttribute('x1', String(x(batch)));
    cursor.setAttribute('x2', String(x(batch)));
    cursor.setAttribute('visibility', 'visible');
    show_tooltip(client_x, client_y, facts(`Batch ${batch}`, lines.flatMap((line) => {
      const p = line.points.find((point) => point.batch === batch);
      return p ? [[line.name, `${metric.format(p.estimate.value)}${p.fits ? '' : ' (does not fit)'}`] as const] : [];
    })));
  };
  const hide = () => { cursor.setAttribute('visibility', 'hidden'); hide_tooltip(); };
  let stop = Math.max(0, batches.indexOf(current_batch));
  const surface = s('rect', { class: 'surface', x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top, tabindex: 0, role: 'img', 'aria-label': `${metric.label} by batch size; arrow keys read it out` });
  surface.addEventListener('pointermove', (event) => {
    const local = event.clientX - svg.getBoundingClientRect().left;
    show(batches.reduce((best, b) => (Math.abs(x(b) - local) < Math.abs(x(best) - local) ? b : best)), event.clientX, event.clientY);
  });
  surface.addEventListener('pointerleave', hide);
  surface.addEventListener('blur', hide);
  surface.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    stop = Math.min(batches.length - 1, Math.max(0, stop + step));
    const rect = svg.getBoundingClientRect();
    const batch = batches[stop]!;
    surface.setAttribute('aria-label', `Batch ${batch}: ${lines.map((line) => `${line.name} ${metric.format(line.points.find((p) => p.batch === batch)?.estimate.value ?? NaN)}`).join(', ')}`);
    show(batch, rect.left + x(batch), rect.top + box.top);
  });
  svg.append(surface);
  return svg;
}

export interface SweepState {
  points: readonly SweepPoint[];
  running: boolean;
  error: string;
}

export interface SweepEvents {
  on_run: () => void;
  on_metric: (metric: string) => void;
}

export function render_sweep(state: SweepState, metric_name: string, current_batch: number, ids: readonly string[], devices: ReadonlyMap<string, Device>, events: SweepEvents): HTMLElement {
  const metric = kMetrics.find((m) => m.value === metric_name) ?? kMetrics[0]!;
  const shown = ids.slice(0, kMostLines);
  const lines = lines_of(state.points, metric, devices, shown);
  const chooser = select(kMetrics, { id: 'sweep-metric', onchange: () => events.on_metric(chooser.value) });
  chooser.value = metric.value;
  const done = state.points.length;
  const button = h('button', { type: 'button', id: 'run-sweep', disabled: state.running, onclick: events.on_run }, state.running ? `Batch ${done + 1} of ${kSweepBatches.length} …` : done ? 'Run again' : 'Run the sweep');
  return h(
    'div',
    {},
    h('div', { class: 'plot-controls' }, h('label', {}, 'Show ', chooser), button),
    state.error && h('p', { class: 'error', role: 'alert' }, state.error),
    lines.length
      ? h('ul', { class: 'legend' }, ...lines.map((line, index) => h('li', {}, h('i', { class: `swatch series-${index}`, 'aria-hidden': 'true' }), line.name)))
      : !state.running && h('p', { class: 'empty' }, `Asks for batch sizes ${kSweepBatches[0]} to ${kSweepBatches[kSweepBatches.length - 1]} and draws how the devices grow.`),
    lines.length > 0 && responsive((width) => draw(width, lines, metric, current_batch)),
    lines.length > 0 && h('p', { class: 'note' }, 'Bands are 90 % intervals; hollow points do not fit into the device’s memory. ', ids.length > kMostLines && `The first ${kMostLines} devices of the table are drawn.`),
    lines.length > 0 && data_table(`${metric.label} against batch size`, ['Batch', ...lines.map((line) => line.name)], kSweepBatches.filter((b) => state.points.some((p) => p.batch === b)).map((batch) => [String(batch), ...lines.map((line) => {
      const p = line.points.find((point) => point.batch === batch);
      return p ? `${metric.format(p.estimate.value)} (${metric.format(p.estimate.low)} – ${metric.format(p.estimate.high)})` : '–';
    })])),
  );
}
