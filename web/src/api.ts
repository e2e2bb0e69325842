// The server's answers as types, and the few calls that fetch them.
import type { MetricKey } from './metrics.ts';

export type Basis = 'measured' | 'learned' | 'roofline';

export interface Estimate {
  value: number;
  low: number;
  high: number;
  basis: Basis;
  predictor: string;
  /** What it rests on, in the words of every front end. */
  trust?: string;
}

/** Of one device; metrics that were not estimated are absent. */
export type Estimates = Partial<Record<MetricKey, Estimate>>;

export interface MigAdvice {
  profile: string;
  instances: number;
  why: string;
}

export interface Advice {
  fits?: boolean;
  mig?: MigAdvice;
  usd_per_hour?: number;
  usd_per_million?: number;
  co2_g_per_million?: number;
  price_kind?: string;
  price_date?: string;
  region?: string;
}

export interface Kernel {
  kernel: string;
  operators: string[];
  count: number;
  time_ms: number;
  bound: string;
  flops: number;
  bytes: number;
  l1_bytes?: number;
  l2_bytes?: number;
  memory_bytes?: number;
}

export interface Utilisation {
  gpu_busy: number;
  tensor_core: number;
  tensor_core_time: number;
  memory_bandwidth: number;
  launch: number;
  host: number;
}

export interface ServingMetric {
  value: number;
  p50?: number;
  p90?: number;
  p99?: number;
  low: number;
  high: number;
}

type ServingKey = 'ttft_ms' | 'tpot_ms' | 'itl_ms' | 'request_latency_ms' | 'requests_per_s' | 'tokens_per_s' | 'goodput_per_s' | 'queue' | 'kv_use' | 'kv_use_peak';

/** Of an engine under load; latencies are absent when it is saturated. */
export interface Serving extends Partial<Record<ServingKey, ServingMetric>> {
  engine: string;
  engine_version: string;
  saturated: boolean;
  max_concurrency: number;
  devices: number;
  highest_rate_per_s?: number;
}

export interface StageMemory {
  first_stage: number;
  stages: number;
  device_memory_mb: number;
  memory_parts_mb: Record<string, number>;
}

/** A network on several devices. */
export interface ParallelAnswer {
  devices: number;
  tensor_parallel: number;
  pipeline_parallel: number;
  context_parallel: number;
  data_parallel: number;
  micro_batches: number;
  samples_per_s: number;
  mfu: number;
  compute_ms: number;
  communication_ms: number;
  hidden_communication_ms: number;
  bubble_ms: number;
  update_ms: number;
  input_ms: number;
  stages: StageMemory[];
}

/** Whether the limits of the request are kept; the nearest changes with which they are. */
export interface LimitReport {
  holds: boolean;
  misses: { limit: string; reason: string }[];
  remedies: { text: string }[];
}

export interface Verdict {
  text: string;
}

export interface DeviceResult {
  device: string;
  estimates: Estimates;
  utilisation?: Utilisation;
  advice?: Advice;
  limits?: LimitReport;
  breakdown?: Kernel[];
  parallel?: ParallelAnswer;
  serving?: Serving;
  warnings?: string[];
}

export interface WorkloadSummary {
  name: string;
  format: string;
  batch: number;
  precision: string;
  runtime: string;
  phase: string;
  sequence: number | null;
  training: boolean;
  optimizer: string | null;
  parameters: number;
  macs: number;
}

export interface PredictReport {
  workload: WorkloadSummary;
  verdict?: Verdict;
  results: DeviceResult[];
  warnings?: string[];
}

export interface TensorInfo {
  name: string;
  dtype: string;
  shape: (number | string | null)[] | null;
}

export interface OperatorCost {
  count: number;
  macs: number;
  flops: number;
  parameters: number;
  bytes_moved: number;
}

export interface InspectReport {
  name: string;
  format: string;
  inputs: TensorInfo[];
  outputs: TensorInfo[];
  nodes: number;
  edges: number;
  parameters: number;
  weight_bytes: number;
  macs: number;
  flops: number;
  bytes_moved: number;
  activation_peak_bytes: number;
  operators: Record<string, OperatorCost>;
  coverage: number;
  unknown_operators: string[];
  warnings: string[];
}

export interface NodeRow {
  name: string;
  operator: string;
  inputs: TensorInfo[];
  outputs: TensorInfo[];
  macs: number | null;
  flops: number | null;
  bytes_moved: number | null;
  parameters: number;
}

export interface NodesReport {
  name: string;
  nodes: NodeRow[];
}

export interface Bandwidths {
  memory_bandwidth_gb_per_s?: number;
  l2_bandwidth_gb_per_s?: number;
  l1_bandwidth_gb_per_s?: number;
}

export interface Device {
  id: string;
  name: string;
  maker: string;
  kind?: string;
  architecture?: string;
  year?: number;
  sm_count?: number;
  clock_boost_mhz?: number;
  peak_tflops: Record<string, number>;
  memory_gib: number;
  memory_bandwidth_gb_per_s: number;
  l2_mib?: number;
  /** Rates of memory and caches that we measured, or others. */
  measured?: Bandwidths;
  reported?: Bandwidths;
  power_limit_w?: number;
  mig?: unknown[];
}

export interface Region {
  id: string;
  g_per_kwh: number;
}

export interface Network {
  name: string;
  architecture?: string;
  task?: string;
  parameters?: number;
  license?: string;
}

/** What the user did wrong, or what went wrong, in the server's own words. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly title: string,
  ) {
    super(message);
  }
}

const kTokenKey = 'forerun.token';

export function saved_token(): string {
  return sessionStorage.getItem(kTokenKey) ?? '';
}

export function save_token(token: string): void {
  sessionStorage.setItem(kTokenKey, token);
}

async function call<T>(path: string, init: RequestInit = {}): Promise<T> {
  const headers = new Headers(init.headers);
  const token = saved_token();
  if (token) headers.set('Authorization', `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError('The server does not answer. Is `forerun serve` still running?', 0, 'No answer');
  }
  if (response.ok) return (await response.json()) as T;
  throw await problem_of(response);
}

async function problem_of(response: Response): Promise<ApiError> {
  const fallback = `The server answered ${response.status} ${response.statusText}`.trim();
  try {
    const problem = (await response.json()) as { title?: string; detail?: string };
    return new ApiError(problem.detail ?? problem.title ?? fallback, response.status, problem.title ?? fallback);
  } catch {
    return new ApiError(fallback, response.status, fallback);
  }
}

/** What the user gave: one file, or several that the server reads as one folder. */
export interface Upload {
  name: string;
  size: number;
  files: readonly File[];
}

export function upload_of(files: readonly File[]): Upload | null {
  if (files.length === 0) return null;
  const more = files.length - 1;
  const name = files[0]!.name + (more > 0 ? ` and ${more} more` : '');
  return { name, size: files.reduce((sum, file) => sum + file.size, 0), files };
}

/** The request body: JSON alone, or multipart when files go with it (the request part first). */
export function request_body(request: object, upload: Upload | null): RequestInit {
  const json = JSON.stringify(request);
  if (!upload) return { method: 'POST', body: json, headers: { 'Content-Type': 'application/json' } };
  const form = new FormData();
  form.append('request', new Blob([json], { type: 'application/json' }), 'request.json');
  for (const file of upload.files) form.append('model', file, file.name);
  return { method: 'POST', body: form };
}

export const fetch_devices = async (): Promise<Device[]> =>
  (await call<{ devices: Device[] }>('v1/devices')).devices;

export const fetch_networks = async (): Promise<Network[]> =>
  (await call<{ networks: Network[] }>('v1/networks')).networks;

export const fetch_regions = async (): Promise<Region[]> =>
  (await call<{ regions: Region[] }>('v1/regions')).regions;

export const predict = (request: object, upload: Upload | null, signal: AbortSignal): Promise<PredictReport> =>
  call('v1/predict', { ...request_body(request, upload), signal });

export const inspect = (request: object, upload: Upload | null, signal: AbortSignal): Promise<InspectReport> =>
  call('v1/inspect', { ...request_body(request, upload), signal });

export const serve = (request: object, upload: Upload | null, signal: AbortSignal): Promise<PredictReport> =>
  call('v1/serve', { ...request_body(request, upload), signal });

export const list_nodes = (request: object, upload: Upload | null, signal: AbortSignal): Promise<NodesReport> =>
  call('v1/nodes', { ...request_body(request, upload), signal });
