// Serving under load: how latency and throughput grow with the rate of requests, or what a trace of arrivals meets.
import { serve, type PredictReport, type Serving, type Upload } from '../api.ts';
import { h, type Child } from '../dom.ts';
import * as format from '../format.ts';
import { data_table } from '../plot/frame.ts';
import { predict_request } from '../request.ts';
import type { View } from '../state.ts';
import { choice, given, labelled, number_input, number_of, sync_devices } from './fields.ts';
import { line_plot } from './line_plot.ts';
import { parse_trace, type TraceRow } from './trace.ts';

/** Of the rate that the deployment serves at most. */
export const kShares = [0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.85, 0.95, 1.1] as const;
const kMostClients = 1024;
const kEngines = ['vllm', 'sglang', 'trtllm', 'transformers', 'llama.cpp'];

interface Point {
  rate: number;
  serving: Serving;
}

export class ServingTab {
  readonly panel: HTMLElement;
  private view: View | null = null;
  private upload: Upload | null = null;
  private trace: TraceRow[] = [];
  private running = new AbortController();
  private readonly device = choice('serving-device', []);
  private readonly engine = choice('serving-engine', kEngines.map((value) => ({ value, label: value })));
  private readonly inputs = number_input('serving-input', '1000');
  private readonly outputs = number_input('serving-output', '200');
  private readonly tensor = number_input('serving-tensor', '1');
  private readonly replicas = number_input('serving-replicas', '1');
  private readonly ttft = number_input('serving-ttft', '', 'none');
  private readonly tpot = number_input('serving-tpot', '', 'none');
  private readonly file = h('input', { id: 'serving-trace', type: 'file', accept: '.csv,text/csv' });
  private readonly button = h('button', { type: 'submit', class: 'primary', id: 'serving-run' }, 'Draw the load curve');
  private readonly said = h('p', { class: 'note', role: 'status' });
  private readonly answer = h('div', { id: 'serving-answer' });

  constructor() {
    this.file.addEventListener('change', () => void this.read_trace());
    this.panel = h(
      'section',
      { class: 'tab-panel', id: 'panel-serving', role: 'tabpanel', 'aria-labelledby': 'tab-serving', hidden: true },
      h(
        'form',
        { class: 'card tab-form', onsubmit: (event: Event) => { event.preventDefault(); void this.run(); } },
        h('header', {}, h('h2', {}, 'Serving under load')),
        h(
          'div',
          { class: 'grid-equal' },
          labelled('Device', this.device, 'Of those chosen in the form'),
          labelled('Engine', this.engine),
          labelled('Prompt tokens', this.inputs),
          labelled('Answer tokens', this.outputs),
          labelled('GPUs of an instance', this.tensor, 'Tensor parallel'),
          labelled('Instances', this.replicas),
          labelled('First token within (ms)', this.ttft),
          labelled('Output token within (ms)', this.tpot),
          labelled('Trace (CSV)', this.file, 'timestamp in seconds, input_tokens, output_tokens'),
        ),
        h('div', { class: 'submit' }, this.button),
        this.said,
      ),
      this.answer,
    );
  }

  sync(view: View, upload: Upload | null, name_of: (id: string) => string): void {
    this.view = view;
    this.upload = view.source === 'file' ? upload : null;
    sync_devices(this.device, view.devices, name_of);
  }

  private async read_trace(): Promise<void> {
    const file = this.file.files?.[0];
    this.trace = [];
    this.button.textContent = 'Draw the load curve';
    if (!file) return;
    try {
      this.trace = parse_trace(await file.text());
      this.button.textContent = 'Run the trace';
      this.said.textContent = `${this.trace.length} requests over ${format.seconds(this.trace[this.trace.length - 1]![0] - this.trace[0]![0])}`;
    } catch (error) {
      this.said.textContent = (error as Error).message;
    }
  }

  private request(load: Record<string, unknown>): Record<string, unknown> {
    const { model, config, precision } = predict_request(this.view!);
    return given({
      model, config, precision, device: this.device.value, engine: this.engine.value,
      input_tokens: number_of(this.inputs), output_tokens: number_of(this.outputs),
      tensor_parallel: number_of(this.tensor), data_parallel: number_of(this.replicas), ...load,
    });
  }

  private async ask(load: Record<string, unknown>): Promise<{ serving: Serving; report: PredictReport }> {
    const report = await serve(this.request(load), this.upload, this.running.signal);
    const result = report.results[0]!;
    if (!result.serving) throw new Error(result.warnings?.[0] ?? 'The engine does not answer for this device.');
    return { serving: result.serving, report };
  }

  private async run(): Promise<void> {
    if (!this.view || !this.device.value) {
      this.said.textContent = 'Choose a language model and a device first.';
      return;
    }
    this.running.abort();
    this.running = new AbortController();
    this.button.disabled = true;
    this.answer.replaceChildren();
    try {
      if (this.trace.length) await this.run_trace();
      else await this.run_curve();
    } catch (error) {
      if (!this.running.signal.aborted) this.said.textContent = (error as Error).message;
    }
    this.button.disabled = false;
  }

  private async run_trace(): Promise<void> {
    this.said.textContent = 'Running the trace …';
    const { input_tokens: _i, output_tokens: _o, ...rest } = { input_tokens: undefined, output_tokens: undefined, trace: this.trace, ...this.limits() };
    const { serving, report } = await this.ask(rest);
    this.said.textContent = serving.saturated ? 'The trace brings requests faster than they are served.' : '';
    this.answer.replaceChildren(this.card('serving-trace-answer', 'The trace', metrics_table(serving)), ...warnings(report));
  }

  private limits(): Record<string, unknown> {
    return given({ slo_ttft_ms: number_of(this.ttft), slo_tpot_ms: number_of(this.tpot) });
  }

  private async run_curve(): Promise<void> {
    this.said.textContent = 'Finding what it can serve …';
    const first = await this.ask({ concurrency: 1, ...this.limits() });
    const most = Math.min(kMostClients, first.serving.max_concurrency);
    if (most < 1) throw new Error(first.report.results[0]!.warnings?.[0] ?? 'The network does not fit this device.');
    const capacity = (await this.ask({ concurrency: most })).serving.requests_per_s!.value;
    const points: Point[] = [];
    for (const share of kShares) {
      this.said.textContent = `${points.length + 1} of ${kShares.length} rates …`;
      const rate = Number((capacity * share).toPrecision(3));
      points.push({ rate, serving: (await this.ask({ request_rate: rate })).serving });
      this.show(points, first.serving, first.report);
    }
    this.said.textContent = '';
  }

  private card(id: string, title: string, ...body: Child[]): HTMLElement {
    return h('section', { class: 'card', id }, h('header', {}, h('h2', {}, title), h('span', { class: 'on' }, `${this.engine.value} on ${this.device.selectedOptions[0]?.textContent ?? ''}`)), ...body);
  }

  private show(points: readonly Point[], first: Serving, report: PredictReport): void {
    const stable = points.filter((p) => !p.serving.saturated);
    const saturated_from = points.find((p) => p.serving.saturated)?.rate;
    const over = (of: (s: Serving) => number | undefined, from: readonly Point[] = stable) =>
      from.flatMap((p) => { const value = of(p.serving); return value === undefined ? [] : [[p.rate, value] as const]; });
    const plot = { x_label: 'Requests per second', ...(saturated_from !== undefined && { saturated_from }) };
    const ttft = number_of(this.ttft);
    const tpot = number_of(this.tpot);
    const highest = first.highest_rate_per_s;
    this.answer.replaceChildren(
      this.card(
        'load-curve',
        'Load curve',
        h('p', { class: 'note' }, `KV caches of ${format.whole(first.max_concurrency)} such requests fit at once. `, highest !== undefined && h('b', {}, `90 % of the requests keep the limits up to ${format.sig(highest)} requests/s.`)),
        line_plot({ ...plot, title: 'Time to first token', y_label: 'ms', is_log: true, series: [{ name: 'mean', points: over((s) => s.ttft_ms?.value) }, { name: '99th percentile', points: over((s) => s.ttft_ms?.p99) }], ...(ttft !== undefined && { limit: ttft }) }),
        line_plot({ ...plot, title: 'Time per output token', y_label: 'ms', is_log: true, series: [{ name: 'mean', points: over((s) => s.tpot_ms?.value) }, { name: '99th percentile', points: over((s) => s.tpot_ms?.p99) }], ...(tpot !== undefined && { limit: tpot }) }),
        line_plot({ ...plot, title: 'Throughput', y_label: 'Output tokens per second', is_log: false, series: [{ name: 'all devices', points: over((s) => s.tokens_per_s?.value, points) }] }),
        data_table('Load curve', ['Requests/s', 'TTFT mean', 'TTFT p99', 'TPOT mean', 'TPOT p99', 'Tokens/s', 'Queue'], points.map(({ rate, serving: s }) => [
          `${format.sig(rate)}${s.saturated ? ' (saturated)' : ''}`, ...[s.ttft_ms?.value, s.ttft_ms?.p99, s.tpot_ms?.value, s.tpot_ms?.p99].map((v) => (v === undefined ? '–' : `${format.sig(v)} ms`)), format.sig(s.tokens_per_s?.value), format.sig(s.queue?.value),
        ])),
      ),
      ...warnings(report),
    );
  }
}

function warnings(report: PredictReport): HTMLElement[] {
  const texts = report.results[0]?.warnings ?? [];
  return texts.length ? [h('section', { class: 'card' }, h('ul', { class: 'warnings' }, ...texts.map((text) => h('li', {}, text))))] : [];
}

const kShown = [['ttft_ms', 'Time to first token, ms'], ['tpot_ms', 'Time per output token, ms'], ['request_latency_ms', 'Whole request, ms'], ['tokens_per_s', 'Output tokens per second'], ['requests_per_s', 'Requests per second'], ['goodput_per_s', 'Requests within the limits per second'], ['queue', 'Requests waiting'], ['kv_use_peak', 'Largest share of the KV blocks']] as const;

function metrics_table(serving: Serving): HTMLElement {
  const rows = kShown.flatMap(([key, label]) => {
    const m = serving[key];
    return m ? [h('tr', {}, h('th', { scope: 'row' }, label), ...[m.value, m.p50, m.p90, m.p99].map((v) => h('td', {}, v === undefined ? '' : format.sig(v))))] : [];
  });
  return h('div', { class: 'scroll' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ...['', 'Mean', 'Median', '90th', '99th'].map((text) => h('th', { scope: 'col' }, text)))), h('tbody', {}, ...rows)));
}
