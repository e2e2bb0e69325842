// View → the request that the server and the command line understand.
import { format_dims, format_inputs, is_serving_view, kServingFields, type View } from './state.ts';

export interface Request {
  model?: string;
  config?: unknown;
  device?: string;
  batch?: number;
  seq?: number;
  dims?: Record<string, number>;
  input?: Record<string, string>;
  precision?: string;
  runtime?: string;
  host_speed?: number;
  phase?: string;
  train?: boolean;
  optimizer?: string;
  input_tokens?: number;
  output_tokens?: number;
  concurrency?: number;
  engine?: string;
  max_latency_ms?: number;
  min_throughput?: number;
  max_usd_per_hour?: number;
  slo_ttft_ms?: number;
  slo_tpot_ms?: number;
  device_spec?: unknown;
  price?: string;
  region?: string;
}

/** The serving fields that are given; none of them when training. */
function serving_of(view: View): Partial<Request> {
  if (view.train) return {};
  return Object.fromEntries(kServingFields.filter((field) => view[field] !== null).map((field) => [field, view[field]!]));
}

/** Only eager passes and training steps wait for their host. */
export const waits_for_host = (view: View): boolean => view.train || (view.runtime === 'eager' && !is_serving_view(view));

/** How it runs: under a load, as a training step, or as one pass. */
function run_of(view: View): Partial<Request> {
  if (is_serving_view(view)) return { engine: view.engine, ...serving_of(view) };
  const batch = { batch: view.batch, ...(view.seq !== null && { seq: view.seq }) };
  // Training steps are launched eagerly.
  if (view.train) return { ...batch, runtime: 'eager', train: true, optimizer: view.optimizer };
  return { ...batch, runtime: view.runtime, phase: view.phase };
}

/** The limits of this kind of question that are set. */
function limits_of(view: View): Partial<Request> {
  const fields = is_serving_view(view) ? ['slo_ttft_ms', 'slo_tpot_ms', 'max_usd_per_hour'] as const : ['max_latency_ms', 'min_throughput', 'max_usd_per_hour'] as const;
  return Object.fromEntries(fields.filter((field) => view[field] !== null).map((field) => [field, view[field]]));
}

/** Everything of the request but the network itself. */
function settings_of(view: View): Request {
  return {
    device: view.devices.join(','),
    ...(Object.keys(view.dims).length > 0 && { dims: view.dims }),
    ...(Object.keys(view.inputs).length > 0 && { input: view.inputs }),
    ...(view.precision && { precision: view.precision }),
    ...run_of(view),
    ...(waits_for_host(view) && view.host_speed !== null && { host_speed: view.host_speed }),
    ...limits_of(view),
    ...(view.device_spec && { device_spec: JSON.parse(view.device_spec) as unknown }),
    ...(view.price !== 'on_demand' && { price: view.price }),
    ...(view.region && { region: view.region }),
  };
}

/** REQUIRES: view.config is JSON when view.source is 'config'. */
export function predict_request(view: View): Request {
  if (view.source === 'name') return { model: view.network, ...settings_of(view) };
  if (view.source === 'config') return { config: JSON.parse(view.config), ...settings_of(view) };
  return settings_of(view);
}

export function inspect_request(view: View): Request {
  const { model, config, batch, seq, dims, input, precision, phase } = predict_request(view);
  return {
    ...(model !== undefined && { model }),
    ...(config !== undefined && { config }),
    ...(batch !== undefined && { batch }),
    ...(seq !== undefined && { seq }),
    ...(dims && { dims }),
    ...(input && { input }),
    ...(precision !== undefined && { precision }),
    ...(phase !== undefined && { phase }),
  };
}

const quote = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`);

/** The same question for the command line. */
export function cli_command(view: View, file_name: string | null): string {
  const network = view.source === 'name' ? view.network : view.source === 'file' ? (file_name ?? 'MODEL') : 'config.json';
  const { device, dims, input, precision, device_spec, config, model, ...rest } = predict_request({ ...view, source: 'name' });
  const words = ['forerun', 'predict', network, '--device', device!];
  const option = (name: string, value: unknown) => words.push(`--${name.replaceAll('_', '-')}`, ...(value === true ? [] : [String(value)]));
  if (device_spec) words.push('--device-file', 'device.json');
  for (const dim of format_dims(dims ?? {}).split(', ').filter(Boolean)) option('dim', dim);
  for (const shape of format_inputs(input ?? {}).split(', ').filter(Boolean)) option('input', shape);
  if (precision) option('precision', precision);
  for (const [name, value] of Object.entries(rest)) option(name, value);
  return words.map(quote).join(' ');
}
