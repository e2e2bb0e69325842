// Everything right of the form: summary, table, warnings and the plots, drawn anew from one state.
import { ApiError, type Device, type InspectReport, type PredictReport, type Upload } from '../api.ts';
import { h, type Child } from '../dom.ts';
import * as format from '../format.ts';
import { cli_command } from '../request.ts';
import { to_hash, type View } from '../state.ts';
import { render_breakdown } from './breakdown.ts';
import { answer_text, render_answer } from './answer.ts';
import { device_name, is_serving_row, kColumns, sort_key, sort_rows, type Row } from './columns.ts';
import { render_compare } from './compare.ts';
import { to_csv } from './exports.ts';
import { render_graph, type GraphState } from './graph.ts';
import { render_improve, type ImproveEvents, type ImproveState } from './improve.ts';
import { render_network } from './network.ts';
import { render_roofline } from './roofline.ts';
import { render_sweep, type SweepState } from './sweep.ts';
import { render_table } from './table.ts';

export interface ResultsState {
  view: View;
  upload: Upload | null;
  devices: ReadonlyMap<string, Device>;
  report: PredictReport | null;
  network: InspectReport | null;
  error: ApiError | null;
  /** Why nothing is asked yet, in words for the user. */
  waiting: string;
  sweep: SweepState;
  graph: GraphState;
  /** What there is room for, in pixels. */
  width: number;
  all_columns: boolean;
  improve: ImproveState;
  /** Names the question that proposals are for. */
  improve_key: string;
}

export interface ResultsEvents {
  patch: (patch: Partial<View>) => void;
  run_sweep: () => void;
  load_graph: () => void;
  set_graph: (change: Partial<GraphState>) => void;
  all_columns: () => void;
  improve: ImproveEvents;
  copy: (what: string, text: string) => void;
  use_token: (token: string) => void;
}

export function rows_of(state: ResultsState): Row[] {
  const { report } = state;
  if (!report) return [];
  return report.results.map((result) => ({ result, device: state.devices.get(result.device), batch: report.workload.batch, samples: state.view.samples }));
}

/** The device of the plots: the chosen one, else the first row that fits. */
export function focus_of(rows: readonly Row[], view: View): Row | undefined {
  const sorted = sort_rows(rows, view.sort, view.descending);
  return sorted.find((row) => row.result.device === view.focus) ?? sorted.find((row) => row.result.advice?.fits !== false) ?? sorted[0];
}

/** The same warning from several devices is said once, with their names; none are named when it is from all. */
export function group_warnings(rows: readonly Row[]): { text: string; devices: string[] }[] {
  const groups = new Map<string, string[]>();
  for (const row of rows) for (const text of row.result.warnings ?? []) groups.set(text, [...(groups.get(text) ?? []), device_name(row)]);
  return [...groups].map(([text, devices]) => ({ text, devices: devices.length === rows.length && rows.length > 1 ? [] : devices }));
}

const card = (id: string, title: string, aside: Child, ...body: Child[]): HTMLElement =>
  h('section', { class: 'card', id, 'aria-labelledby': `${id}-title` }, h('header', {}, h('h2', { id: `${id}-title` }, title), aside), ...body);

/** What the user calls it: the name asked about or the file's, before the graph's own. */
function title_of(state: ResultsState): string {
  const { view, upload, report } = state;
  return (view.source === 'name' ? view.network : view.source === 'file' ? upload?.name : '') || report!.workload.name || 'Network';
}

function summary_of(state: ResultsState): HTMLElement {
  const w = state.report!.workload;
  const serving = rows_of(state).some(is_serving_row);
  const { input_tokens, output_tokens, concurrency, engine } = state.view;
  const run = serving ? `${engine}, ${concurrency ?? 1} requests in flight, ${input_tokens ?? 512} + ${output_tokens ?? 128} tokens` : w.training ? `training step, ${w.optimizer ?? 'no optimizer'}` : w.phase;
  const pieces = [serving ? '' : `batch ${w.batch}`, w.sequence && !serving ? `sequence ${w.sequence}` : '', w.precision, run, serving ? '' : w.runtime === 'graph' ? 'CUDA graph' : w.runtime, `${format.count(w.parameters)} parameters`, serving ? '' : `${format.count(w.macs)} MACs`];
  return h('div', { class: 'summary' }, h('h1', {}, title_of(state)), h('p', {}, ...pieces.filter(Boolean).flatMap((piece) => [h('span', {}, piece), ' '])));
}

function copy_bar(state: ResultsState, rows: readonly Row[], events: ResultsEvents): HTMLElement {
  const command = cli_command(state.view, state.upload?.name ?? null);
  const button = (label: string, what: string, text: () => string) => h('button', { type: 'button', onclick: () => events.copy(what, text()) }, label);
  return h(
    'div',
    { class: 'copy', role: 'group', 'aria-label': 'Copy the answer' },
    h('span', { 'aria-hidden': 'true' }, 'Copy'),
    button('Link', state.view.source === 'file' ? 'Link copied. The file itself is not in it: whoever opens it has to add the file again.' : 'Link copied', () => location.href.replace(/#.*$/, '') + to_hash(state.view, true)),
    button('Command', 'Command copied', () => command),
    button('JSON', 'JSON copied', () => JSON.stringify(state.report, null, 2)),
    button('CSV', 'CSV copied', () => to_csv(sort_rows(rows, state.view.sort, state.view.descending))),
  );
}

function warnings_of(state: ResultsState, rows: readonly Row[]): HTMLElement | null {
  const groups = [...(state.network?.warnings ?? []).map((text) => ({ text, devices: [] as string[] })), ...group_warnings(rows)];
  const unique = groups.filter((group, index) => groups.findIndex((other) => other.text === group.text) === index);
  if (!unique.length) return null;
  return h(
    'details',
    { class: 'warnings', open: unique.length <= 3 },
    h('summary', {}, `${unique.length} warning${unique.length > 1 ? 's' : ''}`),
    h('ul', {}, ...unique.map(({ text, devices }) => h('li', {}, text, devices.length > 0 && h('small', {}, ` ${devices.join(', ')}`)))),
  );
}

function error_of(state: ResultsState, events: ResultsEvents): HTMLElement {
  const error = state.error!;
  const box = h('div', { class: 'card error-card', role: 'alert', tabindex: -1, id: 'error' }, h('h2', {}, error.status >= 500 || error.status === 0 ? 'No answer' : 'This cannot be answered as asked'), h('p', {}, error.message.replace(' (GET /v1/networks)', '').replace('name one of /v1/networks', 'choose a network by name')));
  if (state.report) box.append(h('p', { class: 'note' }, 'Below is the answer to the question before.'));
  if (error.status === 401) {
    const input = h('input', { id: 'token', type: 'password', autocomplete: 'off' });
    box.append(h('form', { class: 'token', onsubmit: (event: Event) => { event.preventDefault(); events.use_token(input.value.trim()); } }, h('label', { for: 'token' }, 'Access token'), input, h('button', { type: 'submit' }, 'Use')));
  }
  return box;
}

function basis_legend(rows: readonly Row[]): HTMLElement {
  const present = new Set(rows.flatMap((row) => kColumns.map((column) => column.estimate(row)?.basis)));
  const entry = (basis: string, words: string) => present.has(basis as never) && h('li', {}, h('i', { class: `basis ${basis}`, 'aria-hidden': 'true' }), words);
  return h('ul', { class: 'legend' }, entry('measured', 'measured'), entry('learned', 'learned from this or similar devices'), entry('roofline', 'data sheet only'), h('li', {}, h('i', { class: 'basis interval', 'aria-hidden': 'true' }), '90 % interval'));
}

export function render_results(state: ResultsState, events: ResultsEvents): HTMLElement[] {
  const { view } = state;
  if (state.error && !state.report) return [error_of(state, events)];
  if (!state.report)
    return state.waiting
      ? [h('div', { class: 'card hello' }, h('h1', {}, 'How will it run, before it runs?'), h('p', {}, state.waiting))]
      : [h('div', { class: 'card skeleton', 'aria-hidden': 'true' }, ...[60, 100, 92, 97, 88].map(() => h('i', {})))];

  const rows = rows_of(state);
  const focus = focus_of(rows, view);
  const on_focus = (device: string) => device !== view.focus && events.patch({ focus: device });
  const on_sort = (key: string) =>
    events.patch(sort_key(rows, view.sort) === key ? { descending: !view.descending } : { sort: key, descending: kColumns.find((c) => c.key === key)?.more_is_better ?? false });
  const focus_device = focus?.device;
  const focus_title = () => focus && h('span', { class: 'on' }, device_name(focus));

  return [
    state.error ? error_of(state, events) : null,
    h('div', { class: 'top' }, summary_of(state), copy_bar(state, rows, events)),
    state.waiting ? h('p', { class: 'waiting', role: 'status' }, state.waiting) : null,
    render_answer(answer_text(rows, view, state.report.verdict?.text)),
    card('devices-card', 'Devices', basis_legend(rows), render_table(rows, view, state.report.workload, focus?.result.device ?? '', state.all_columns ? Infinity : state.width, { on_sort, on_focus, on_all_columns: events.all_columns }), warnings_of(state, rows)),
    focus ? card('improve', 'Improve', focus_title(), render_improve(state.improve, state.improve_key, events.improve)) : null,
    focus && focus_device ? card('roofline', 'Roofline', focus_title(), render_roofline(focus.result, focus_device, state.report.workload.precision)) : null,
    h(
      'div',
      { class: 'pair' },
      focus?.result.breakdown?.length ? card('breakdown', 'Where the time goes', focus_title(), render_breakdown(focus.result, device_name(focus), view.kernels_by, (kernels_by) => events.patch({ kernels_by }))) : null,
      card('compare', 'Latency against price', null, render_compare(rows, view.price_axis, focus?.result.device ?? '', (price_axis) => events.patch({ price_axis }), on_focus)),
    ),
    card('graph', 'The graph', focus ? h('span', { class: 'on' }, `time on ${device_name(focus)}`) : null, render_graph(state.graph, focus_device, state.report.workload.precision, { on_load: events.load_graph, on_change: events.set_graph })),
    h(
      'div',
      { class: 'pair' },
      rows.some(is_serving_row) ? null : card('sweep', 'Batch size', null, render_sweep(state.sweep, view.sweep_metric, state.report.workload.batch, sort_rows(rows, view.sort, view.descending).map((row) => row.result.device), state.devices, { on_run: events.run_sweep, on_metric: (sweep_metric) => events.patch({ sweep_metric }) })),
      card('network', 'The network', state.network ? h('span', { class: 'on' }, state.network.format) : null, state.network ? render_network(state.network) : h('p', { class: 'empty' }, 'Reading the network …')),
    ),
  ].filter((element): element is HTMLElement => element !== null);
}
