// How the network is run: batch, sequence, precision, inference or training, runtime, phase, samples, region.
import type { Region } from '../api.ts';
import { check_radio, h, segmented, select } from '../dom.ts';
import { parse_count } from '../format.ts';
import { kEngines, kOptimizers, kPhases, kPrecisions, kRuntimes } from '../options.ts';
import { waits_for_host } from '../request.ts';
import { format_dims, format_inputs, is_serving_view, kServingFields, kUsualLoad, parse_dims, parse_host_speed, parse_inputs, type View } from '../state.ts';
import { field, set_problem } from './help.ts';

type Patch = (patch: Partial<View>) => void;

const optional_number = (id: string): HTMLInputElement =>
  h('input', { id, type: 'number', min: 1, step: 1, inputmode: 'numeric' });

/** Says what is wrong with a text, or passes its value on. Returns the check, for when the field is filled by the page. */
function on_valid<T>(input: HTMLInputElement, parse: (text: string) => T | null, words: string, apply: (value: T) => void): void {
  input.addEventListener('input', () => {
    const value = parse(input.value);
    set_problem(input, value === null ? words : '');
    if (value !== null) apply(value);
    else input.dispatchEvent(new CustomEvent('problem', { bubbles: true }));
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
  private readonly serving_group: HTMLElement;
  private readonly engine: HTMLSelectElement;
  private readonly price: HTMLSelectElement;
  private readonly batch_field: HTMLElement;
  private readonly seq_field: HTMLElement;
  private readonly samples_field: HTMLElement;
  private readonly precision: HTMLSelectElement;
  private readonly optimizer: HTMLSelectElement;
  private readonly optimizer_field: HTMLElement;
  private readonly host_speed = h('input', { id: 'host-speed', type: 'text', inputmode: 'decimal', placeholder: '1', autocomplete: 'off' });
  private readonly host_speed_field = field('Host speed', this.host_speed, 'How fast the host launches kernels, relative to the quiet reference host that eager answers are for. 0.5: half as fast.');
  private readonly samples = h('input', { id: 'samples', type: 'text', inputmode: 'numeric', autocomplete: 'off' });
  private readonly region = h('input', { id: 'region', type: 'text', list: 'regions', maxlength: 40, placeholder: 'world', autocomplete: 'off', spellcheck: 'false' });

  private readonly regions = h('datalist', { id: 'regions' });
  private known_regions = new Map<string, string>();

  constructor(patch: Patch) {
    this.precision = select(kPrecisions, { id: 'precision', onchange: () => patch({ precision: this.precision.value }) });
    this.optimizer = select(kOptimizers, { id: 'optimizer', onchange: () => patch({ optimizer: this.optimizer.value }) });
    this.engine = select(kEngines, { id: 'engine', onchange: () => patch({ engine: this.engine.value }) });
    this.price = select([{ value: 'on_demand', label: 'on demand' }, { value: 'spot', label: 'spot' }], { id: 'price', onchange: () => patch({ price: this.price.value }) });
    const no_load = { input_tokens: null, output_tokens: null, concurrency: null };
    this.task = segmented('Task', 'task', [
      { value: 'inference', label: 'One pass', hint: 'A batch through the network' },
      { value: 'serving', label: 'Serving', hint: 'A language model in a serving engine, with requests in flight' },
      { value: 'training', label: 'Training', hint: 'A training step' },
    ], (value) => patch({ train: value === 'training', ...(value === 'serving' ? kUsualLoad : no_load) }));
    this.runtime = segmented('Runtime', 'runtime', kRuntimes, (runtime) => patch({ runtime }));
    this.phase = segmented('Phase', 'phase', kPhases, (phase) => patch({ phase }));
    this.optimizer_field = field('Optimizer', this.optimizer, 'Its state is counted in memory, its pass over the weights in time. None: forward and backward only.');

    const whole = (text: string) => (/^[0-9]+$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= 1e9 ? Number(text) : null);
    on_valid(this.batch, whole, 'A whole number from 1 to 1,000,000,000.', (batch) => patch({ batch }));
    const on_optional = (input: HTMLInputElement, apply: (value: number | null) => void, parse = whole, words = 'A whole number of at least 1, or nothing.') =>
      input.addEventListener('input', () => {
        const text = input.value.trim();
        const value = text ? parse(text) : null;
        set_problem(input, text !== '' && value === null ? words : '');
        if (text === '' || value !== null) apply(value);
        else input.dispatchEvent(new CustomEvent('problem', { bubbles: true }));
      });
    on_optional(this.seq, (seq) => patch({ seq }));
    on_optional(this.host_speed, (host_speed) => patch({ host_speed }), parse_host_speed, 'A number from 0.01 to 100, or nothing.');
    for (const [name, input] of Object.entries(this.serving)) on_optional(input, (value) => patch({ [name]: value }));
    on_valid(this.dims, parse_dims, 'Names and sizes, as in height=224, width=224.', (dims) => patch({ dims }));
    on_valid(this.inputs, parse_inputs, 'Names and shapes, as in image=1x3x224x224.', (inputs) => patch({ inputs }));
    on_valid(this.samples, parse_count, 'A whole number; 10k and 1e6 are understood.', (samples) => patch({ samples }));
    on_valid(this.region, (text) => this.find_region(text), 'A country (DEU) or a cloud’s region (aws:eu-west-1) of the list.', (region) => patch({ region }));

    this.serving_group = h(
      'div',
      {},
      h('div', { class: 'grid-equal' },
        field('Prompt', this.serving.input_tokens, 'Tokens of one request’s prompt. A page of text has about 600.'),
        field('Answer', this.serving.output_tokens, 'Tokens generated for one request.'),
        field('In flight', this.serving.concurrency, 'Requests served at the same time: people who wait for an answer at one moment.')),
      field('Engine', this.engine, 'The program that serves: its scheduler, its kernels and its overheads are those of its current version.'),
    );
    this.batch_field = field('Batch', this.batch, 'Samples, or sequences, in one pass.');
    this.seq_field = field('Sequence', this.seq, 'Tokens in the prompt; in the decode phase, tokens already in the cache.');
    this.samples_field = field('Samples', this.samples, 'How many samples time, energy, price and carbon are for; 10k and 1e6 are understood.');
    this.shapes = h('details', { class: 'more' },
      h('summary', {}, 'Other dimensions and inputs'),
      field('Names and sizes', this.dims, 'Sizes of the file’s free dimensions, by name.'),
      field('Shapes of inputs', this.inputs, 'For files that do not state them, as TorchScript; ? is a size that the batch gives.'));
    this.element = h(
      'section',
      { class: 'group', 'aria-label': 'Run' },
      this.task,
      this.serving_group,
      h('div', { class: 'grid-3' },
        this.batch_field,
        this.seq_field,
        field('Precision', this.precision, 'The number format it runs in. “fp32” is PyTorch’s default: TF32 in convolutions, not in matrix products.')),
      this.phase,
      this.optimizer_field,
      this.runtime,
      this.host_speed_field,
      h('div', { class: 'grid-2' },
        this.samples_field,
        field('Region', this.region, 'Country of the electricity grid (DEU) or a cloud’s region (aws:eu-west-1), for carbon.'),
        field('Rent', this.price, 'Median of published prices: on demand, or of machines that may be taken away (spot).')),
      this.regions,
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
    const is_serving = is_serving_view(view);
    check_radio(this.task, view.train ? 'training' : is_serving ? 'serving' : 'inference');
    check_radio(this.runtime, view.runtime);
    check_radio(this.phase, view.phase);
    this.phase.hidden = this.runtime.hidden = view.train || is_serving;
    this.batch_field.hidden = this.seq_field.hidden = this.samples_field.hidden = this.shapes.hidden = is_serving;
    this.host_speed_field.hidden = !waits_for_host(view);
    this.optimizer_field.hidden = !view.train;
    this.serving_group.hidden = !is_serving;
    const set = (control: HTMLInputElement | HTMLSelectElement, value: string) => {
      if (document.activeElement === control) return;
      control.value = value;
      set_problem(control, '');
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
    set(this.engine, view.engine);
    set(this.price, view.price);
    set(this.samples, view.samples.toLocaleString('en-GB'));
    set(this.region, view.region);
  }

  /** The first field whose text makes no sense, and why; empty when all do. */
  problem(): string {
    for (const field of this.element.querySelectorAll<HTMLElement>('[aria-invalid="true"]')) {
      const label = this.element.querySelector(`label[for="${field.id}"]`)?.textContent ?? field.id;
      return `${label}: ${document.getElementById(`${field.id}-problem`)?.textContent ?? 'not understood'}`;
    }
    return '';
  }
}
