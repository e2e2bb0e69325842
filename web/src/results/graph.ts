// The network's graph: a row per node, its edges as lanes beside it, and what each node costs as a bar.
import type { Device, NodesReport } from '../api.ts';
import { h, s, select } from '../dom.ts';
import * as format from '../format.ts';
import { attach_tooltip, facts } from '../plot/tooltip.ts';
import { ceilings_of } from './roofline.ts';

export interface GraphState {
  nodes: NodesReport | null;
  loading: boolean;
  error: string;
  cost: string;
  find: string;
  shown: number;
}
export const kNoGraph: GraphState = { nodes: null, loading: false, error: '', cost: 'time', find: '', shown: 60 };

export interface GraphEvents {
  on_load: () => void;
  on_change: (change: Partial<GraphState>) => void;
}

const kCosts = [
  { value: 'time', label: 'Least time', hint: 'The longer of its arithmetic at the peak rate and its traffic at the full bandwidth' },
  { value: 'flops', label: 'FLOPs' },
  { value: 'bytes', label: 'Bytes moved' },
  { value: 'parameters', label: 'Parameters' },
] as const;

export interface GraphRow {
  index: number;
  lane: number;
  /** Lanes that pass by, lanes that end here and lanes that begin here. */
  through: number[];
  ends: number[];
  begins: number[];
}

const kMostLanes = 12;

/** Places nodes below one another; a value that is read later keeps a lane until its last reader. */
export function lay_out(nodes: readonly { inputs: readonly { name: string }[]; outputs: readonly { name: string }[] }[]): GraphRow[] {
  const last_reader = new Map<string, number>();
  nodes.forEach((node, index) => node.inputs.forEach((input) => last_reader.set(input.name, index)));
  const made = new Set(nodes.flatMap((node) => node.outputs.map((output) => output.name)));
  const lanes: (string | null)[] = [];
  return nodes.map((node, index) => {
    const read = new Set(node.inputs.map((input) => input.name).filter((name) => made.has(name)));
    const inputs = lanes.flatMap((name, lane) => (name !== null && read.has(name) ? [lane] : []));
    const ends = inputs.filter((lane) => last_reader.get(lanes[lane]!) === index);
    for (const lane of ends) lanes[lane] = null;
    const free = () => { const at = lanes.indexOf(null); return at < 0 ? lanes.length : at; };
    const lane = ends[0] ?? free();
    const through = lanes.flatMap((name, at) => (name !== null ? [at] : []));
    const begins = node.outputs.filter((output) => (last_reader.get(output.name) ?? -1) > index).map((output, at) => {
      const place = at === 0 && (lanes[lane] ?? null) === null ? lane : free();
      lanes[place] = output.name;
      return place;
    });
    for (let at = 0; at < lanes.length; at++) lanes[at] ??= null;
    return { index, lane, through, ends: inputs.filter((at) => ends.includes(at) || through.includes(at)), begins };
  });
}

interface Cost {
  value: number;
  bound: string;
}

function cost_of(node: NodesReport['nodes'][number], kind: string, device: Device | undefined, precision: string): Cost {
  const [flops, bytes] = [node.flops ?? 0, node.bytes_moved ?? 0];
  if (kind === 'flops') return { value: flops, bound: 'compute' };
  if (kind === 'bytes') return { value: bytes, bound: 'memory' };
  if (kind === 'parameters') return { value: node.parameters, bound: 'learned' };
  if (!device) return { value: 0, bound: '' };
  const peak = ceilings_of(device, precision)[0]?.flops_per_s ?? Infinity;
  const [compute, memory] = [flops / peak, bytes / (device.memory_bandwidth_gb_per_s * 1e9)];
  return { value: Math.max(compute, memory), bound: compute > memory ? 'compute' : 'memory' };
}

const words_of: Record<string, (value: number) => string> = { time: format.seconds, flops: format.count, bytes: format.bytes, parameters: format.count };

const kLane = 11;
const kRow = 28;

function lanes_svg(row: GraphRow, bound: string, lanes: number): SVGElement {
  const x = (lane: number) => 8 + Math.min(lane, kMostLanes) * kLane;
  const middle = kRow / 2;
  const svg = s('svg', { class: 'lanes', width: x(lanes) + 8, height: kRow, 'aria-hidden': 'true' });
  for (const lane of row.through) svg.append(s('path', { class: 'edge', d: `M${x(lane)} 0V${kRow}` }));
  for (const lane of row.ends) svg.append(s('path', { class: 'edge', d: `M${x(lane)} 0C${x(lane)} ${middle} ${x(row.lane)} 2 ${x(row.lane)} ${middle}` }));
  for (const lane of row.begins) svg.append(s('path', { class: 'edge', d: `M${x(row.lane)} ${middle}C${x(row.lane)} ${kRow - 2} ${x(lane)} ${middle} ${x(lane)} ${kRow}` }));
  svg.append(s('circle', { class: `node ${bound}`, cx: x(row.lane), cy: middle, r: 4.5 }));
  return svg;
}

const shape_of = (tensors: readonly { shape: readonly unknown[] | null }[]): string => tensors.slice(0, 1).map((t) => t.shape?.join(' × ') ?? '?').join('');

export function render_graph(state: GraphState, device: Device | undefined, precision: string, events: GraphEvents): HTMLElement {
  if (state.error) return h('p', { class: 'error', role: 'alert' }, state.error);
  if (!state.nodes)
    return h('div', {}, h('p', { class: 'empty' }, 'Every node with its edges, shapes and cost. '), h('button', { type: 'button', id: 'load-graph', disabled: state.loading, onclick: events.on_load }, state.loading ? 'Reading the graph …' : 'Show the graph'));
  const { nodes } = state.nodes;
  const costs = nodes.map((node) => cost_of(node, state.cost, device, precision));
  const total = costs.reduce((sum, cost) => sum + cost.value, 0);
  const largest = Math.max(...costs.map((cost) => cost.value), 0) || 1;
  const words = words_of[state.cost] ?? format.count;
  const rows = lay_out(nodes);
  const wanted = state.find.trim().toLowerCase();
  const found = rows.filter(({ index }) => !wanted || `${nodes[index]!.name} ${nodes[index]!.operator}`.toLowerCase().includes(wanted));
  const shown = found.slice(0, state.shown);
  const lanes = Math.min(kMostLanes, Math.max(1, ...shown.map((row) => Math.max(row.lane, ...row.through, ...row.begins))));
  const chooser = select(kCosts, { id: 'graph-cost', onchange: () => events.on_change({ cost: chooser.value }) });
  chooser.value = state.cost;
  const search: HTMLInputElement = h('input', { id: 'graph-find', type: 'search', value: state.find, placeholder: 'name or operator', oninput: () => events.on_change({ find: search.value }) });
  const list = h('ol', { class: 'graph-nodes' }, ...shown.map((row) => {
    const node = nodes[row.index]!;
    const cost = costs[row.index]!;
    const bar = h('span', { class: `segment ${cost.bound}` });
    bar.style.width = `${((100 * cost.value) / largest).toFixed(2)}%`;
    const item = h('li', {},
      lanes_svg(row, cost.bound, lanes),
      h('span', { class: 'graph-name' }, h('b', {}, node.operator), ' ', h('span', {}, node.name)),
      h('span', { class: 'graph-shape' }, shape_of(node.outputs)),
      h('span', { class: 'bar', 'aria-hidden': 'true' }, bar),
      h('span', { class: 'graph-cost' }, cost.value > 0 ? words(cost.value) : '–'));
    attach_tooltip(item, () => facts(node.name || node.operator, [
      ['operator', node.operator],
      ['in', node.inputs.map((t) => `${t.name} [${t.shape?.join(', ') ?? '?'}]`).slice(0, 4).join('; ')],
      ['out', node.outputs.map((t) => `${t.name} [${t.shape?.join(', ') ?? '?'}]`).slice(0, 4).join('; ')],
      ['FLOPs', node.flops === null ? undefined : format.count(node.flops)],
      ['moved', node.bytes_moved === null ? undefined : format.bytes(node.bytes_moved)],
      ['parameters', node.parameters ? format.count(node.parameters) : undefined],
      ['share', total > 0 ? format.percent(cost.value / total) : undefined],
    ]));
    return item;
  }));
  const rest = found.length - shown.length;
  return h(
    'div',
    {},
    h('div', { class: 'plot-controls' }, h('label', {}, 'Cost ', chooser), h('label', {}, 'Find ', search), h('span', { class: 'note', role: 'status' }, `${found.length} of ${nodes.length} nodes`)),
    h('div', { class: 'scroll graph-scroll', tabindex: 0, role: 'region', 'aria-label': 'Nodes of the graph' }, list),
    rest > 0 && h('button', { type: 'button', class: 'quiet', id: 'graph-more', onclick: () => events.on_change({ shown: state.shown + 200 }) }, `Show ${Math.min(200, rest)} more of ${rest}`),
    h('p', { class: 'note' }, state.cost === 'time' ? 'A bound for each node by itself: the answer above also knows fusion, waves and launches.' : ''),
  );
}
