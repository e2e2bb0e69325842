// The values that the run's options take, with the words shown for them.
import type { Choice } from './dom.ts';

export const kPrecisions: readonly Choice[] = [
  { value: '', label: 'as stored', hint: 'What the file’s weights are stored in' },
  { value: 'fp32', label: 'fp32 (PyTorch default)', hint: 'TF32 in convolutions, not in matrix products' },
  { value: 'ieee_fp32', label: 'ieee_fp32', hint: 'TF32 off everywhere' },
  { value: 'tf32', label: 'tf32', hint: 'TF32 on everywhere' },
  { value: 'fp16', label: 'fp16' },
  { value: 'bf16', label: 'bf16' },
  { value: 'amp_bf16', label: 'amp_bf16 (mixed)' },
  { value: 'amp_fp16', label: 'amp_fp16 (mixed)' },
  { value: 'fp8', label: 'fp8' },
  { value: 'int8', label: 'int8' },
  { value: 'int4', label: 'int4' },
  { value: 'fp4', label: 'fp4' },
];

export const kRuntimes: readonly Choice[] = [
  { value: 'eager', label: 'Eager', hint: 'As PyTorch launches it, host gaps included' },
  { value: 'graph', label: 'CUDA graph', hint: 'The same kernels replayed as one CUDA graph, no host gaps' },
  { value: 'compiled', label: 'Compiled', hint: 'The kernels of torch.compile, replayed as one CUDA graph' },
  { value: 'engine', label: 'Engine', hint: 'A serving engine’s kernels' },
];

export const kPhases: readonly Choice[] = [
  { value: 'forward', label: 'Forward', hint: 'One pass over the whole batch' },
  { value: 'prefill', label: 'Prefill', hint: 'All prompt tokens, filling the KV cache' },
  { value: 'decode', label: 'Decode', hint: 'One token per sequence at the given cache length' },
];

export const kOptimizers: readonly Choice[] = [
  { value: 'none', label: 'none (forward and backward)' },
  { value: 'sgd', label: 'SGD' },
  { value: 'adam', label: 'Adam' },
  { value: 'adamw', label: 'AdamW' },
];

export const kEngines: readonly Choice[] = [
  { value: 'vllm', label: 'vLLM' },
  { value: 'sglang', label: 'SGLang' },
  { value: 'trtllm', label: 'TensorRT-LLM' },
  { value: 'transformers', label: 'transformers' },
  { value: 'llama.cpp', label: 'llama.cpp' },
];
