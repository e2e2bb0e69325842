// A GPU that is not in the catalogue: seven figures of its data sheet, or its description pasted as JSON.
import type { Device } from '../api.ts';
import { h } from '../dom.ts';
import type { View } from '../state.ts';
import { field, set_problem } from './help.ts';

const kId = 'my-gpu';
const kFigures = [
  { key: 'memory_gib', label: 'Memory, GiB', help: 'What the driver reports as total memory.' },
  { key: 'memory_bandwidth_gb_per_s', label: 'Bandwidth, GB/s', help: 'Peak bandwidth of device memory.' },
  { key: 'fp16_tensor', label: 'fp16, TFLOP/s', help: 'Dense rate of the tensor cores; half of the rate “with sparsity”.' },
  { key: 'fp32', label: 'fp32, TFLOP/s', help: 'Rate of plain single precision.' },
  { key: 'sm_count', label: 'Multiprocessors', help: 'SMs of NVIDIA, compute units of AMD, Xe cores of Intel.' },
  { key: 'power_limit_w', label: 'Power, W', help: 'Board power limit.' },
] as const;

/** What is wrong with a description; empty when nothing is that can be told here. */
export function spec_problem(text: string): string {
  try {
    const value = JSON.parse(text) as Partial<Device> | null;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'A description is a JSON object: { … }.';
    return typeof value.id === 'string' && value.id ? '' : 'It needs an "id".';
  } catch (error) {
    return `Not JSON yet: ${(error as Error).message}`;
  }
}

export class OwnDevice {
  readonly element: HTMLDetailsElement;
  private readonly name = h('input', { id: 'own-name', type: 'text', maxlength: 60, placeholder: 'My GPU', autocomplete: 'off', oninput: () => this.typed() });
  private readonly figures = new Map(kFigures.map(({ key }) => [key, h('input', { id: `own-${key}`, type: 'text', inputmode: 'decimal', autocomplete: 'off', oninput: () => this.typed() })] as const));
  private readonly text = h('textarea', { id: 'own-json', rows: 5, spellcheck: 'false', placeholder: '{"id": "my-gpu", "name": "My GPU", "sm_count": 60, …}', oninput: () => this.pasted() });

  constructor(private readonly patch: (change: Partial<View>) => void, private readonly view: () => View) {
    this.element = h('details', { class: 'more own-device' },
      h('summary', {}, 'Your own GPU'),
      field('Name', this.name, 'What the table calls it.'),
      h('div', { class: 'grid-equal' }, ...kFigures.map(({ key, label, help }) => field(label, this.figures.get(key)!, help))),
      field('Or its description', this.text, 'The content of a device file, as `forerun devices l4 --json` prints one. The more fields it has, the better the answer.'),
      h('button', { type: 'button', id: 'own-remove', onclick: () => this.remove() }, 'Remove it'));
  }

  private typed(): void {
    const values = new Map([...this.figures].map(([key, input]) => [key, Number(input.value)] as const));
    for (const [key, input] of this.figures) set_problem(input, input.value.trim() === '' || (Number.isFinite(values.get(key)) && values.get(key)! > 0) ? '' : 'A number above 0.');
    if ([...values.values()].some((value) => !(value > 0))) return;
    const { fp16_tensor, fp32, ...rest } = Object.fromEntries(values) as Record<(typeof kFigures)[number]['key'], number>;
    this.use(JSON.stringify({ id: kId, name: this.name.value.trim() || 'My GPU', ...rest, peak_tflops: { fp32, fp16: fp32, bf16: fp32, fp16_tensor, bf16_tensor: fp16_tensor } }));
  }

  private pasted(): void {
    const text = this.text.value.trim();
    const problem = text ? spec_problem(text) : '';
    set_problem(this.text, problem);
    if (text && !problem) this.use(JSON.stringify(JSON.parse(text)));
  }

  private use(device_spec: string): void {
    const { id } = JSON.parse(device_spec) as Device;
    this.patch({ device_spec, devices: [...new Set([...this.others(), id])] });
  }

  private remove(): void {
    this.patch({ device_spec: '', devices: this.others() });
  }

  /** The devices of the catalogue among those chosen. */
  private others(): string[] {
    const { device_spec, devices } = this.view();
    const own = device_spec ? (JSON.parse(device_spec) as Device).id : '';
    return devices.filter((id) => id !== own);
  }

  sync(view: View): void {
    if (view.device_spec) this.element.open = true;
    if (document.activeElement !== this.text && !this.element.contains(document.activeElement)) this.text.value = view.device_spec;
  }
}

/** The device of the description, as the catalogue would list it. */
export function own_device(view: View): Device | null {
  if (!view.device_spec || spec_problem(view.device_spec)) return null;
  const device = JSON.parse(view.device_spec) as Device;
  return { ...device, maker: device.maker ?? 'Yours', peak_tflops: device.peak_tflops ?? {} };
}
