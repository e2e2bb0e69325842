// What the page shows, as one plain value, and its form in the address bar's hash.

export type Source = 'name' | 'file' | 'config';

export interface View {
  source: Source;
  network: string;
  config: string;
  batch: number;
  seq: number | null;
  dims: Record<string, number>;
  /** Shapes of inputs that the file does not state, as in "1x3x224x224"; "?" is a size that the batch or sequence gives. */
  inputs: Record<string, string>;
  /** Serving a language model: tokens of a request and requests in flight. */
  input_tokens: number | null;
  output_tokens: number | null;
  concurrency: number | null;
  engine: string;
  /** Limits that colour the table (results/limits.ts). */
  max_latency_ms: number | null;
  min_throughput: number | null;
  max_usd_per_hour: number | null;
  slo_ttft_ms: number | null;
  slo_tpot_ms: number | null;
  /** A device of one's own: its description as JSON text; empty: none. */
  device_spec: string;
  price: string;
  /** Empty: what the file's weights are stored in. */
  precision: string;
  runtime: string;
  /** Of eager passes and training steps: how fast the host is, relative to the reference host. */
  host_speed: number | null;
  phase: string;
  train: boolean;
  optimizer: string;
  devices: string[];
  samples: number;
  region: string;
  focus: string;
  sort: string;
  descending: boolean;
  kernels_by: string;
  price_axis: string;
  sweep_metric: string;
  /** Which question is open: a pass, serving under load, or several devices. */
  tab: string;
}

export const kDefaults: Readonly<View> = {
  source: 'name',
  network: '',
  config: '',
  batch: 8,
  seq: null,
  dims: {},
  inputs: {},
  input_tokens: null,
  output_tokens: null,
  concurrency: null,
  engine: 'vllm',
  max_latency_ms: null,
  min_throughput: null,
  max_usd_per_hour: null,
  slo_ttft_ms: null,
  slo_tpot_ms: null,
  device_spec: '',
  price: 'on_demand',
  precision: 'fp16',
  runtime: 'graph',
  host_speed: null,
  phase: 'forward',
  train: false,
  optimizer: 'adam',
  devices: [],
  samples: 1_000_000,
  region: '',
  focus: '',
  sort: 'latency',
  descending: false,
  kernels_by: 'kernel',
  price_axis: 'usd_per_million',
  sweep_metric: 'throughput',
  tab: 'pass',
};

/** Links longer than this are cut off by some programs, so a larger pasted config stays out of them. */
export const kLongestLink = 8000;

type Field = keyof View;
const kTextFields = [
  'network', 'precision', 'runtime', 'phase', 'optimizer', 'region', 'focus', 'sort', 'kernels_by', 'price_axis',
  'sweep_metric', 'tab', 'engine', 'price', 'device_spec',
] as const satisfies readonly Field[];
export const kServingFields = ['input_tokens', 'output_tokens', 'concurrency'] as const satisfies readonly Field[];
export const kLimitFields = ['max_latency_ms', 'min_throughput', 'max_usd_per_hour', 'slo_ttft_ms', 'slo_tpot_ms'] as const satisfies readonly Field[];
/** What a language model is asked about until its user says otherwise. */
export const kUsualLoad = { input_tokens: 1000, output_tokens: 300, concurrency: 16, precision: '' } as const;

/** Whether a serving engine under load is asked about. */
export const is_serving_view = (view: View): boolean => !view.train && kServingFields.some((field) => view[field] !== null);

export function format_dims(dims: Record<string, number>): string {
  return Object.entries(dims).map(([name, size]) => `${name}=${size}`).join(', ');
}

/** "a=1, b=2" → {a: 1, b: 2}; null when the text is not of that form. */
export function parse_dims(text: string): Record<string, number> | null {
  const dims: Record<string, number> = {};
  for (const part of text.split(/[,\n]/).map((piece) => piece.trim()).filter(Boolean)) {
    const match = /^([^=\s]+)\s*=\s*([1-9][0-9]{0,8})$/.exec(part);
    if (!match) return null;
    dims[match[1]!] = Number(match[2]);
  }
  return dims;
}

export function format_inputs(inputs: Record<string, string>): string {
  return Object.entries(inputs).map(([name, shape]) => `${name}=${shape}`).join(', ');
}

/** "image=1x3x224x224, ids=?x128" → {image: "1x3x224x224", ids: "?x128"}; null when the text is not of that form. */
export function parse_inputs(text: string): Record<string, string> | null {
  const inputs: Record<string, string> = {};
  for (const part of text.split(/[,\n]/).map((piece) => piece.trim()).filter(Boolean)) {
    const match = /^([^=\s]+)\s*=\s*((?:[1-9][0-9]{0,8}|\?)(?:x(?:[1-9][0-9]{0,8}|\?)){0,31})$/.exec(part);
    if (!match) return null;
    inputs[match[1]!] = match[2]!;
  }
  return inputs;
}

export const kLeastHostSpeed = 0.01;
export const kMostHostSpeed = 100;
export function parse_host_speed(text: string): number | null {
  const value = Number(text);
  return text.trim() !== '' && value >= kLeastHostSpeed && value <= kMostHostSpeed ? value : null;
}

const positive = (text: string | null): number | null => {
  const value = Number(text);
  return text && Number.isSafeInteger(value) && value >= 1 ? value : null;
};

/** The config on one line, or as it stands when it is not JSON yet. */
export function compact_config(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

const amount = (text: string | null): number | null => {
  const value = Number(text);
  return text && Number.isFinite(value) && value > 0 ? value : null;
};

/** `whole`: with what is as usual too, so that the link shows the same when that changes. */
export function to_hash(view: View, whole = false): string {
  const params = new URLSearchParams();
  if (view.source !== 'name') params.set('source', view.source);
  for (const field of kTextFields) {
    if (field === 'network' && view.source !== 'name') continue;
    if (view[field] !== kDefaults[field] || (whole && view[field] !== '')) params.set(field, view[field]);
  }
  if (view.source === 'config') {
    const config = compact_config(view.config);
    if (encodeURIComponent(config).length < kLongestLink) params.set('config', config);
  }
  params.set('batch', String(view.batch));
  if (view.seq !== null) params.set('seq', String(view.seq));
  if (Object.keys(view.dims).length) params.set('dims', format_dims(view.dims));
  if (Object.keys(view.inputs).length) params.set('inputs', format_inputs(view.inputs));
  for (const field of kServingFields) if (view[field] !== null) params.set(field, String(view[field]));
  for (const field of kLimitFields) if (view[field] !== null) params.set(field, String(view[field]));
  if (view.host_speed !== null) params.set('host_speed', String(view.host_speed));
  if (view.train) params.set('train', '1');
  if (view.devices.length) params.set('devices', view.devices.join(','));
  if (whole || view.samples !== kDefaults.samples) params.set('samples', String(view.samples));
  if (view.descending) params.set('order', 'descending');
  return '#' + params.toString().replace(/%2C/g, ',').replace(/%3D/g, '=');
}

/** The view a hash names. What is missing or malformed takes its default. */
export function from_hash(hash: string): View {
  const params = new URLSearchParams(hash.replace(/^#/, ''));
  const view: View = { ...kDefaults, dims: {}, inputs: {}, devices: [] };
  for (const field of kTextFields) view[field] = params.get(field) ?? view[field];
  const source = params.get('source');
  if (source === 'file' || source === 'config') view.source = source;
  const config = params.get('config');
  if (config) {
    try {
      view.config = JSON.stringify(JSON.parse(config), null, 2);
    } catch {
      view.config = config;
    }
  }
  view.batch = positive(params.get('batch')) ?? view.batch;
  view.seq = positive(params.get('seq'));
  view.dims = parse_dims(params.get('dims') ?? '') ?? {};
  view.inputs = parse_inputs(params.get('inputs') ?? '') ?? {};
  for (const field of kServingFields) view[field] = positive(params.get(field));
  for (const field of kLimitFields) view[field] = amount(params.get(field));
  view.host_speed = parse_host_speed(params.get('host_speed') ?? '');
  view.train = params.get('train') === '1';
  view.devices = [...new Set((params.get('devices') ?? '').split(',').filter(Boolean))];
  view.samples = positive(params.get('samples')) ?? view.samples;
  view.descending = params.get('order') === 'descending';
  return view;
}
