// What was read: the network's figures, its inputs and its operators.
import type { InspectReport, TensorInfo } from '../api.ts';
import { h } from '../dom.ts';
import * as format from '../format.ts';

const shape = (tensor: TensorInfo): string => `${tensor.dtype} [${(tensor.shape ?? ['?']).map((d) => d ?? '?').join(', ')}]`;

/** A language model has a pair of caches per layer: the first few tensors say enough. */
const kShownTensors = 6;

function tensor_items(word: string, tensors: readonly TensorInfo[]): HTMLElement[] {
  const rest = tensors.length - kShownTensors;
  return [
    ...tensors.slice(0, kShownTensors).map((t) => h('li', {}, `${word} `, h('code', {}, t.name), ' ', shape(t))),
    ...(rest > 0 ? [h('li', {}, `${word} … and ${rest} more`)] : []),
  ];
}

const figure = (label: string, value: string, title: string): HTMLElement =>
  h('div', { class: 'figure', title }, h('dt', {}, label), h('dd', {}, value));

export function render_network(report: InspectReport): HTMLElement {
  const operators = Object.entries(report.operators).sort((a, b) => b[1].flops - a[1].flops || b[1].count - a[1].count);
  return h(
    'div',
    {},
    h(
      'dl',
      { class: 'figures' },
      figure('Parameters', format.count(report.parameters), 'Elements of all weights, each counted once'),
      figure('Weights', format.bytes(report.weight_bytes), 'Bytes of all weights as stored'),
      figure('MACs', format.count(report.macs), 'Multiply-accumulates of one pass over the batch'),
      figure('FLOPs', format.count(report.flops), 'Two per MAC, one per element of every other arithmetic operator'),
      figure('Moved', format.bytes(report.bytes_moved), 'Bytes read and written by all operators'),
      figure('Activations', format.bytes(report.activation_peak_bytes), 'Largest size of all activations alive at once'),
      figure('Nodes', format.whole(report.nodes), 'Operators in the graph'),
      figure('Coverage', format.percent(report.coverage), 'Share of nodes whose cost is known'),
    ),
    h(
      'details',
      { class: 'data', open: true },
      h('summary', {}, `Inputs, outputs and ${operators.length} kinds of operator`),
      h(
        'div',
        { class: 'columns' },
        h('ul', { class: 'tensors' }, ...tensor_items('in', report.inputs), ...tensor_items('out', report.outputs)),
        h(
          'div',
          { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Operators' },
          h(
            'table',
            { class: 'plain' },
            h('caption', { class: 'sr-only' }, 'Operators'),
            h('thead', {}, h('tr', {}, ...['Operator', 'Count', 'MACs', 'FLOPs', 'Parameters', 'Moved'].map((text) => h('th', { scope: 'col' }, text)))),
            h('tbody', {}, ...operators.map(([name, cost]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, String(cost.count)), h('td', {}, format.count(cost.macs)), h('td', {}, format.count(cost.flops)), h('td', {}, format.count(cost.parameters)), h('td', {}, format.bytes(cost.bytes_moved))))),
          ),
        ),
      ),
    ),
  );
}
