// How the network is run: batch, sequence, precision, inference or training, runtime, phase, samples, region.
import type { Region } from '../api.ts';
import { check_radio, h, segmented, select } from '../dom.ts';
import { parse_count } from '../format.ts';
import { kOptimizers, kPhases, kPrecisions, kRuntimes } from '../options.ts';
import { waits_for_host } from '../request.ts';
import { format_dims, format_inputs, kServingFields, parse_dims, parse_host_speed, parse_inputs, type View } from '../state.ts';

type Patch = (patch: Partial<View>) => void;

const field = (label: string, control: HTMLElement, hint = ''): HTMLElement =>
  h('div', { class: 'field' }, h('label', { for: control.id, title: hint }, label), control);

const optional_number = (id: string): HTMLInputElement =>
  h('input', { id, type: 'number', min: 1, step: 1, inputmode: 'numeric' });

/** Marks the input when its text makes no sense; passes it on when it does. */
function on_valid<T>(input: HTMLInputElement, parse: (text: string) => T | null, apply: (value: T) => void): void {
  input.addEventListener('input', () => {
    const value = parse(input.value);
    input.setAttribute('aria-invalid', String(value === null));
    if (value !== null) apply(value);
  });
}

export class RunOptions {
  readonly element: HTMLElement;
  private readonly task: HTMLFieldSetElement;
  private readonly runtime: HTMLFieldSetElement;
  private readonly phase: HTMLFieldSetElement;
  private readonly batch = h('input', { id: 'batch', type: 'number', min: 1, step: 1, inputmode: 'numeric' });
  private readonly seq = h('input', { id: 'seq', type: 'number', min: 1, step: 1, inputmode: 'numeric', placeholder: 'default' });
  private readonly dims = h('input', { id: 'dims', type: 'text', placeholder: 'height=224, width=224', spellcheck: 'false', autocomplete: 'off' });
  private readonly inputs = h('input', { id: 'inputs', type: 'text', placeholder: 'image=1x3x224x224', spellcheck: 'false', autocomplete: 'off' });
  private readonly shapes: HTMLDetailsElement;
  private readonly serving = {
    input_tokens: optional_number('input-tokens'),
    output_tokens: optional_number('output-tokens'),
    concurrency: optional_number('concurrency'),
  };
  private readonly serving_group: HTMLDetailsElement;
  private readonly precision: HTMLSelectElement;
  private readonly optimizer: HTMLSelectElement;
  private readonly optimizer_field: HTMLElement;
  private readonly host_speed = h('input', { id: 'host-speed', type: 'text', inputmode: 'decimal', placeholder: '1', autocomplete: 'off' });
  private readonly host_speed_field = field('Host speed', this.host_speed, 'How fast the host dispatches, relative to the quiet reference host');
  private readonly samples = h('input', { id: 'samples', type: 'text', inputmode: 'numeric', autocomplete: 'off' });
  private readonly region = h('input', { id: 'region', type: 'text', list: 'regions', maxlength: 40, placeholder: 'world', autocomplete: 'off', spellcheck: 'false' });

  private readonly regions = h('datalist', { id: 'regions' });
  private known_regions = new Map<string, string>();

  constructor(patch: Patch) {
    this.precision = select(kPrecisions, { id: 'precision', onchange: () => patch({ precision: this.precision.value }) });
    this.optimizer = select(kOptimizers, { id: 'optimizer', onchange: () => patch({ optimizer: this.optimizer.value }) });
    this.task = segmented('Task', 'task', [{ value: 'inference', label: 'Inference' }, { value: 'training', label: 'Training' }], (value) => patch({ train: value === 'training' }));
    this.runtime = segmented('Runtime', 'runtime', kRuntimes, (runtime) => patch({ runtime }));
    this.phase = segmented('Phase', 'phase', kPhases, (phase) => patch({ phase }));
    this.optimizer_field = field('Optimizer', this.optimizer);

    const whole = (text: string) => (/^[0-9]+$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= 1e9 ? Number(text) : null);
    on_valid(this.batch, whole, (batch) => patch({ batch }));
    const on_optional = (input: HTMLInputElement, apply: (value: number | null) => void, parse = whole) =>
      input.addEventListener('input', () => {
        const text = input.value.trim();
        const value = text ? parse(text) : null;
        input.setAttribute('aria-invalid', String(text !== '' && value === null));
        if (text === '' || value !== null) apply(value);
      });
    on_optional(this.seq, (seq) => patch({ seq }));
    on_optional(this.host_speed, (host_speed) => patch({ host_speed }), parse_host_speed);
    for (const [name, input] of Object.entries(this.serving)) on_optional(input, (value) => patch({ [name]: value }));
    on_valid(this.dims, parse_dims, (dims) => patch({ dims }));
    on_valid(this.inputs, parse_inputs, (inputs) => patch({ inputs }));
    on_valid(this.samples, parse_count, (samples) => patch({ samples }));
    on_valid(this.region, (text) => this.find_region(text), (region) => patch({ region }));

    this.serving_group = h(
      'details',
      { class: 'more' },
      h('summary', {}, 'Serving requests (language models)'),
      h('div', { class: 'grid-equal' },
        field('Prompt tokens', this.serving.input_tokens, 'Tokens of one request’s prompt'),
        field('Answer tokens', this.serving.output_tokens, 'Tokens generated for one request'),
        field('In flight', this.serving.concurrency, 'Requests served at the same time')),
    );
    this.shapes = h('details', { class: 'more' },
      h('summary', {}, 'Other dimensions and inputs'),
      field('Names and sizes', this.dims, 'For networks whose inputs have named dimensions'),
      field('Shapes of inputs', this.inputs, 'For files that do not state them, as TorchScript; ? is a size that the batch gives'));
    this.element = h(
      'section',
      { class: 'group', 'aria-label': 'Run' },
      this.task,
      h('div', { class: 'grid-3' },
        field('Batch', this.batch, 'Samples in one pass'),
        field('Sequence', this.seq, 'Tokens in the prompt; the cache’s length in the decode phase'),
        field('Precision', this.precision)),
      this.phase,
      this.optimizer_field,
      this.runtime,
      this.host_speed_field,
      h('div', { class: 'grid-2' },
        field('Samples', this.samples, 'How many samples the totals are for; 10k and 1e6 are understood'),
        field('Region', this.region, 'Country of the electricity grid (DEU) or a cloud’s region (aws:eu-west-1)')),
      this.regions,
      this.serving_group,
      this.shapes,
    );
  }

  set_regions(regions: readonly Region[]): void {
    this.known_regions = new Map(regions.map((r) => [r.id.toLowerCase(), r.id]));
    this.regions.replaceChildren(...regions.map((r) => h('option', { value: r.id }, `${Math.round(r.g_per_kwh)} g CO₂/kWh`)));
  }

  /** The region as the server writes it; null while it is half typed. */
  private find_region(text: string): string | null {
    const word = text.trim().toLowerCase();
    return word === '' || word === 'world' ? '' : (this.known_regions.get(word) ?? null);
  }

  sync(view: View): void {
    check_radio(this.task, view.train ? 'training' : 'inference');
    check_radio(this.runtime, view.runtime);
    check_radio(this.phase, view.phase);
    this.phase.hidden = view.train;
    this.runtime.hidden = view.train;
    this.host_speed_field.hidden = !waits_for_host(view);
    this.optimizer_field.hidden = !view.train;
    this.serving_group.hidden = view.train;
    if (kServingFields.some((name) => view[name] !== null)) this.serving_group.open = true;
    const set = (control: HTMLInputElement | HTMLSelectElement, value: string) => {
      if (document.activeElement === control) return;
      control.value = value;
      control.setAttribute('aria-invalid', 'false');
    };
    set(this.batch, String(view.batch));
    set(this.seq, view.seq === null ? '' : String(view.seq));
    set(this.host_speed, view.host_speed === null ? '' : String(view.host_speed));
    for (const name of kServingFields) set(this.serving[name], view[name] === null ? '' : String(view[name]));
    set(this.dims, format_dims(view.dims));
    set(this.inputs, format_inputs(view.inputs));
    if (Object.keys(view.inputs).length > 0) this.shapes.open = true;
    set(this.precision, view.precision);
    set(this.optimizer, view.optimizer);
    set(this.samples, view.samples.toLocaleString('en-GB'));
    set(this.region, view.region);
  }
}
