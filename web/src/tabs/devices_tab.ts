// A network on several devices: what each rank holds, and where a step's time goes.
import { predict, type ParallelAnswer, type PredictReport, type Upload } from '../api.ts';
import { h, s, type Child } from '../dom.ts';
import * as format from '../format.ts';
import { data_table, legend, responsive, svg_root } from '../plot/frame.ts';
import { predict_request } from '../request.ts';
import type { View } from '../state.ts';
import { choice, given, labelled, number_input, number_of, sync_devices } from './fields.ts';

export const kParts = [['weights', 'Weights'], ['gradients', 'Gradients'], ['optimizer', 'Optimiser'], ['activations', 'Activations'], ['buffers', 'Buffers'], ['kv_cache', 'KV cache'], ['other', 'Other']] as const;
export const kTimes = [['compute_ms', 'Compute'], ['communication_ms', 'Communication'], ['bubble_ms', 'Bubble'], ['update_ms', 'Update'], ['input_ms', 'Waiting for input']] as const;

export interface Segment {
  label: string;
  value: number;
  series: number;
}

export const parts_of = (parts: Record<string, number>): Segment[] =>
  kParts.flatMap(([key, label], series) => ((parts[key] ?? 0) > 0 ? [{ label, value: parts[key]!, series: series % 6 }] : []));
export const times_of = (parallel: ParallelAnswer): Segment[] =>
  kTimes.flatMap(([key, label], series) => (parallel[key] > 0 ? [{ label, value: parallel[key], series }] : []));

interface Bar {
  name: string;
  segments: readonly Segment[];
}

/** Stacked bars side by side, all on one scale. `limit`: a line across them, as a device's memory. */
function bars(id: string, rows: readonly Bar[], text: (value: number) => string, limit?: number): HTMLElement {
  const longest = Math.max(limit ?? 0, ...rows.map((row) => row.segments.reduce((sum, part) => sum + part.value, 0)));
  const draw = (width: number): SVGSVGElement => {
    const height = rows.length * 34 + 18;
    const x = (value: number) => (value / longest) * (width - 8);
    const svg = svg_root(width, height, rows.map((row) => `${row.name}: ${row.segments.map((part) => `${part.label} ${text(part.value)}`).join(', ')}`).join('; '));
    rows.forEach((row, index) => {
      const y = index * 34;
      svg.append(s('text', { class: 'tick', x: 0, y: y + 10 }, row.name));
      let at = 0;
      for (const part of row.segments) {
        const rect = s('rect', { class: `segment series-${part.series}`, x: x(at), y: y + 14, width: Math.max(0.5, x(part.value)), height: 16 });
        rect.append(s('title', {}, `${part.label}: ${text(part.value)}`));
        svg.append(rect);
        at += part.value;
      }
    });
    if (limit !== undefined) svg.append(s('line', { class: 'limit', x1: x(limit), x2: x(limit), y1: 0, y2: height - 14 }), s('text', { class: 'tick', x: x(limit) - 4, y: height - 3, 'text-anchor': 'end' }, `the device has ${text(limit)}`));
    return svg;
  };
  const shown = new Map(rows.flatMap((row) => row.segments.map((part) => [part.label, part.series] as const)));
  return h('div', { id }, legend([...shown].map(([label, series]) => ({ label, swatch: `series-${series}` }))), responsive(draw));
}

export class DevicesTab {
  readonly panel: HTMLElement;
  private view: View | null = null;
  private upload: Upload | null = null;
  private memory_of: (id: string) => number | undefined = () => undefined;
  private running = new AbortController();
  private readonly device = choice('devices-device', []);
  private readonly task = choice('devices-task', [{ value: 'train', label: 'Training step' }, { value: 'pass', label: 'One pass' }]);
  private readonly numbers = {
    gpus: number_input('devices-gpus', '8'),
    tensor_parallel: number_input('devices-tensor', ''),
    pipeline_parallel: number_input('devices-pipeline', ''),
    data_parallel: number_input('devices-data', ''),
    context_parallel: number_input('devices-context', ''),
    batch: number_input('devices-batch', '64'),
    micro_batch: number_input('devices-micro', ''),
    seq: number_input('devices-seq', '', 'default'),
  };
  private readonly zero = choice('devices-zero', [{ value: '0', label: 'none' }, { value: '1', label: '1 optimiser' }, { value: '2', label: '2 gradients' }, { value: '3', label: '3 weights (FSDP)' }]);
  private readonly recompute = choice('devices-checkpointing', [{ value: 'none', label: 'none' }, { value: 'selective', label: 'selective' }, { value: 'full', label: 'full' }]);
  private readonly button = h('button', { type: 'submit', class: 'primary', id: 'devices-run' }, 'Lay it out');
  private readonly said = h('p', { class: 'note', role: 'status' });
  private readonly answer = h('div', { id: 'devices-answer' });

  constructor() {
    const n = this.numbers;
    this.panel = h(
      'section',
      { class: 'tab-panel', id: 'panel-devices', role: 'tabpanel', 'aria-labelledby': 'tab-devices', hidden: true },
      h(
        'form',
        { class: 'card tab-form', onsubmit: (event: Event) => { event.preventDefault(); void this.run(); } },
        h('header', {}, h('h2', {}, 'Several devices')),
        h(
          'div',
          { class: 'grid-equal' },
          labelled('Device', this.device, 'Of those chosen in the form'),
          labelled('Task', this.task),
          labelled('GPUs', n.gpus),
          labelled('Batch of all', n.batch, 'Samples of a step or pass on all devices'),
          labelled('Micro-batch', n.micro_batch),
          labelled('Sequence', n.seq),
          labelled('Tensor', n.tensor_parallel, 'Devices that share each layer'),
          labelled('Pipeline', n.pipeline_parallel, 'Stages of consecutive layers'),
          labelled('Data', n.data_parallel, 'Copies'),
          labelled('Context', n.context_parallel, 'Devices that share each sequence'),
          labelled('ZeRO', this.zero, 'What copies divide, in training'),
          labelled('Recompute', this.recompute, 'Activations computed again, in training'),
        ),
        h('div', { class: 'submit' }, this.button),
        this.said,
      ),
      this.answer,
    );
  }

  sync(view: View, upload: Upload | null, name_of: (id: string) => string, memory_of: (id: string) => number | undefined): void {
    this.view = view;
    this.upload = view.source === 'file' ? upload : null;
    this.memory_of = memory_of;
    sync_devices(this.device, view.devices, name_of);
  }

  private request(): Record<string, unknown> {
    const { model, config, precision, optimizer } = predict_request({ ...this.view!, train: true });
    const trains = this.task.value === 'train';
    const { batch, ...numbers } = Object.fromEntries(Object.entries(this.numbers).map(([key, input]) => [key, number_of(input)]));
    return given({
      model, config, precision, device: this.device.value, ...numbers,
      ...(trains ? { train: true, optimizer, global_batch: batch, zero: this.zero.value, checkpointing: this.recompute.value } : { batch, runtime: 'graph' }),
    });
  }

  private async run(): Promise<void> {
    if (!this.view || !this.device.value) {
      this.said.textContent = 'Choose a network and a device first.';
      return;
    }
    this.running.abort();
    this.running = new AbortController();
    this.said.textContent = 'Laying it out …';
    try {
      const report = await predict(this.request(), this.upload, this.running.signal);
      this.said.textContent = '';
      this.show(report);
    } catch (error) {
      if (this.running.signal.aborted) return;
      this.answer.replaceChildren();
      this.said.textContent = (error as Error).message;
    }
  }

  private show(report: PredictReport): void {
    const result = report.results[0]!;
    const p = result.parallel;
    if (!p) {
      this.answer.replaceChildren();
      this.said.textContent = 'One device, one pass: the table of the first tab answers that.';
      return;
    }
    const device_gib = this.memory_of(result.device);
    const total_ms = result.estimates.latency_ms?.value ?? 0;
    const stage_name = (first: number, stages: number): string =>
      p.stages.length === 1 && stages === 1 ? 'Every rank' : stages === 1 ? `Ranks of stage ${first + 1}` : `Ranks of stages ${first + 1} to ${first + stages}`;
    const rows = p.stages.map((stage) => ({ name: `${stage_name(stage.first_stage, stage.stages)}: ${format.megabytes(stage.device_memory_mb)}`, segments: parts_of(stage.memory_parts_mb) }));
    const card = (id: string, title: string, aside: string, ...body: Child[]) =>
      h('section', { class: 'card', id }, h('header', {}, h('h2', {}, title), h('span', { class: 'on' }, aside)), ...body);
    const layout = `tensor ${p.tensor_parallel}, pipeline ${p.pipeline_parallel}, data ${p.data_parallel}, context ${p.context_parallel}`;
    this.answer.replaceChildren(
      card('rank-memory', 'Memory of a rank', result.advice?.fits === false ? 'does not fit' : 'fits', h('p', { class: 'note' }, `${p.devices} devices: ${layout}`), bars('memory-bars', rows, format.megabytes, device_gib === undefined ? undefined : device_gib * 1024)),
      card('step-timeline', p.micro_batches > 1 ? `One step of ${p.micro_batches} micro-batches` : 'One step', `${format.milliseconds(total_ms)}, ${format.sig(p.samples_per_s)} samples/s, MFU ${format.percent(p.mfu)}`,
        bars('time-bars', [{ name: 'Where the step goes', segments: times_of(p) }], format.milliseconds),
        h('p', { class: 'note' }, p.hidden_communication_ms > 0 ? `Another ${format.milliseconds(p.hidden_communication_ms)} of communication are hidden behind compute.` : 'No communication is hidden behind compute.'),
        data_table('One step', ['Part', 'Time', 'Share'], times_of(p).map((part) => [part.label, format.milliseconds(part.value), format.percent(part.value / total_ms)]))),
      h('section', { class: 'card' }, h('ul', { class: 'warnings' }, ...(result.warnings ?? []).map((text) => h('li', {}, text)))),
    );
  }
}
