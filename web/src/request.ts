// View → the request that the server and the command line understand.
import { format_dims, format_inputs, kServingFields, type View } from './state.ts';

export interface Request {
  model?: string;
  config?: unknown;
  device?: string;
  batch: number;
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
  region?: string;
}

/** The serving fields that are given; none of them when training. */
function serving_of(view: View): Partial<Request> {
  if (view.train) return {};
  return Object.fromEntries(kServingFields.filter((field) => view[field] !== null).map((field) => [field, view[field]!]));
}

/** Only eager passes and training steps wait for their host. */
export const waits_for_host = (view: View): boolean => view.train || view.runtime === 'eager';

/** Everything of the request but the network itself. */
function settings_of(view: View): Request {
  return {
    device: view.devices.join(','),
    batch: view.batch,
    ...(view.seq !== null && { seq: view.seq }),
    ...(Object.keys(view.dims).length > 0 && { dims: view.dims }),
    ...(Object.keys(view.inputs).length > 0 && { input: view.inputs }),
    precision: view.precision,
    // Training steps are launched eagerly.
    ...(view.train ? { runtime: 'eager', train: true, optimizer: view.optimizer } : { runtime: view.runtime, phase: view.phase }),
    ...(waits_for_host(view) && view.host_speed !== null && { host_speed: view.host_speed }),
    ...serving_of(view),
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
    batch,
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
  const words = ['forerun', 'predict', network, '--device', view.devices.join(','), '--batch', String(view.batch)];
  if (view.seq !== null) words.push('--seq', String(view.seq));
  for (const dim of format_dims(view.dims).split(', ').filter(Boolean)) words.push('--dim', dim);
  for (const input of format_inputs(view.inputs).split(', ').filter(Boolean)) words.push('--input', input);
  words.push('--precision', view.precision, '--runtime', view.train ? 'eager' : view.runtime);
  if (waits_for_host(view) && view.host_speed !== null) words.push('--host-speed', String(view.host_speed));
  if (view.train) words.push('--train', '--optimizer', view.optimizer);
  else if (view.phase !== 'forward') words.push('--phase', view.phase);
  for (const [field, value] of Object.entries(serving_of(view))) words.push(`--${field.replace('_', '-')}`, String(value));
  if (view.region) words.push('--region', view.region);
  return words.map(quote).join(' ');
}
