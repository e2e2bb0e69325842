// The roofline plot: kernels as dots under the device's ceilings, both axes logarithmic.
import type { Device, DeviceResult, Kernel } from '../api.ts';
import { h, s } from '../dom.ts';
import * as format from '../format.ts';
import { data_table, draw_axes, legend, plot_box, responsive, svg_root, walkable } from '../plot/frame.ts';
import { extent, log } from '../plot/scale.ts';
import { attach_tooltip, facts } from '../plot/tooltip.ts';
import { bound_label, bounds_in } from './bounds.ts';

/** Which peak bounds a precision, most specific first. */
const kPeaks: Record<string, readonly string[]> = {
  ieee_fp32: ['fp32'],
  fp32: ['tf32_tensor', 'fp32'],
  tf32: ['tf32_tensor', 'fp32'],
  fp16: ['fp16_tensor', 'fp16', 'fp32'],
  bf16: ['bf16_tensor', 'bf16', 'fp32'],
  amp_bf16: ['bf16_tensor', 'bf16', 'fp32'],
  amp_fp16: ['fp16_tensor', 'fp16', 'fp32'],
  fp8: ['fp8_tensor', 'fp16_tensor', 'fp32'],
  int8: ['int8_tensor', 'int8', 'fp32'],
  int4: ['int4_tensor', 'int8_tensor', 'fp32'],
};

export interface Ceiling {
  name: string;
  flops_per_s: number;
}

/** The device's peak for the precision first, then its plain fp32 peak where that is another one. */
export function ceilings_of(device: Device, precision: string): Ceiling[] {
  const names = [(kPeaks[precision] ?? ['fp32']).find((name) => (device.peak_tflops[name] ?? 0) > 0), 'fp32'];
  return [...new Set(names)]
    .filter((name): name is string => name !== undefined && (device.peak_tflops[name] ?? 0) > 0)
    .map((name) => ({ name: name.replace('_', ' '), flops_per_s: device.peak_tflops[name]! * 1e12 }));
}

export interface Dot {
  kernel: Kernel;
  intensity: number;
  flops_per_s: number;
}

export function dots_of(kernels: readonly Kernel[]): Dot[] {
  return kernels
    .filter((k) => k.flops > 0 && k.bytes > 0 && k.time_ms > 0)
    .map((kernel) => ({ kernel, intensity: kernel.flops / (kernel.memory_bytes || kernel.bytes), flops_per_s: kernel.flops / (kernel.time_ms / 1e3) }));
}

const kLevels = [
  { name: 'L2', level: 'l2', key: 'l2_bytes' },
  { name: 'L1', level: 'l1', key: 'l1_bytes' },
] as const;

/** Intensity of a kernel at a level of the memory hierarchy; undefined where the answer has no bytes for it. */
export function intensity_at(kernel: Kernel, key: 'l1_bytes' | 'l2_bytes'): number | undefined {
  const bytes = kernel[key];
  return bytes ? kernel.flops / bytes : undefined;
}

/** The device's rate at a level, in bytes per second; undefined where nobody knows it. */
const rate_of = (device: Device, level: 'memory' | 'l2' | 'l1'): number | undefined => {
  const rate = device.measured?.[`${level}_bandwidth_gb_per_s`] ?? device.reported?.[`${level}_bandwidth_gb_per_s`];
  return rate ? rate * 1e9 : undefined;
};

export const attainable = (intensity: number, bytes_per_s: number, flops_per_s: number): number =>
  Math.min(flops_per_s, intensity * bytes_per_s);

function draw(width: number, device: Device, precision: string, dots: readonly Dot[], total_ms: number): SVGSVGElement {
  const height = Math.round(Math.min(420, Math.max(300, width * 0.5)));
  const box = plot_box(width, height, { left: 58, top: 22 });
  const roofs = ceilings_of(device, precision);
  const peak = roofs[0]?.flops_per_s ?? 1e12;
  const bandwidth = rate_of(device, 'memory') ?? device.memory_bandwidth_gb_per_s * 1e9;
  const ridge = peak / bandwidth;

  const xs = extent([...dots.flatMap((d) => [d.intensity, intensity_at(d.kernel, 'l1_bytes') ?? d.intensity]), ridge])!;
  const x = log([Math.min(xs[0] / 2, ridge / 30), Math.max(xs[1] * 2, ridge * 12)], [box.left, box.right], width < 500 ? 5 : 8);
  const ys = extent([...dots.map((d) => d.flops_per_s), peak])!;
  const [bottom, top] = [Math.min(ys[0] / 2, peak / 1e3), Math.max(ys[1], peak)];
  // Room for the label above the highest roof.
  const y = log([bottom, top * (top / bottom) ** 0.09], [box.bottom, box.top], 6);

  const svg = svg_root(width, height, `Roofline of ${device.name}: ${dots.length} kernels. Arrow keys go from kernel to kernel.`);
  svg.append(draw_axes(box, { scale: x, label: 'Arithmetic intensity (FLOP per byte)' }, { scale: y, label: 'FLOP/s' }));

  const clip = `clip-${Math.random().toString(36).slice(2)}`;
  svg.append(s('clipPath', { id: clip }, s('rect', { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top })));
  const roof_group = s('g', { 'clip-path': `url(#${clip})`, 'aria-hidden': 'true' });
  const [x_low, x_high] = x.domain;
  roofs.forEach((roof, index) => {
    const knee = roof.flops_per_s / bandwidth;
    const path = `M${x(Math.max(x_low, knee))} ${y(roof.flops_per_s)}H${x(x_high)}`;
    roof_group.append(s('path', { class: index === 0 ? 'roof' : 'roof faint', d: path }));
    roof_group.append(s('text', { class: 'roof-label', x: box.right - 4, y: y(roof.flops_per_s) - 5, 'text-anchor': 'end' }, `${roof.name} ${format.flops_rate(roof.flops_per_s)}`));
  });
  const slope_end = Math.min(ridge, x_high);
  roof_group.append(s('path', { class: 'roof', d: `M${x(x_low)} ${y(x_low * bandwidth)}L${x(slope_end)} ${y(slope_end * bandwidth)}` }));
  const angle = (Math.atan2(y(10) - y(1), x(10) - x(1)) * 180) / Math.PI;
  const label_at = Math.sqrt(Math.max(x_low, y.domain[0] / bandwidth) * ridge);
  roof_group.append(s('text', { class: 'roof-label', 'text-anchor': 'middle', transform: `translate(${x(label_at) - 4} ${y(label_at * bandwidth) - 6}) rotate(${angle})` }, `${format.sig(device.memory_bandwidth_gb_per_s)} GB/s`));
  for (const level of kLevels) {
    const rate = rate_of(device, level.level);
    if (!rate) continue;
    const end = Math.min(peak / rate, x_high);
    roof_group.append(s('path', { class: 'roof faint', d: `M${x(x_low)} ${y(x_low * rate)}L${x(end)} ${y(end * rate)}` }));
    roof_group.append(s('text', { class: 'roof-label', x: x(end) - 4, y: y(end * rate) + 14, 'text-anchor': 'end' }, `${level.name} ${format.sig(rate / 1e9)} GB/s`));
  }
  svg.append(roof_group);

  const group = s('g', { class: 'dots' });
  for (const dot of dots) {
    for (const level of kLevels) {
      const intensity = intensity_at(dot.kernel, level.key);
      if (intensity === undefined || intensity < x_low) continue;
      const share = dot.kernel.time_ms / total_ms;
      const mark = s('circle', { class: `dot level level-${level.level}`, cx: x(intensity), cy: y(dot.flops_per_s), r: 2 + 5 * Math.sqrt(share), 'aria-hidden': 'true' });
      attach_tooltip(mark, () => facts(`${dot.kernel.kernel} at ${level.name}`, [['intensity', `${format.sig(intensity)} FLOP/B`], ['bytes', format.bytes(dot.kernel.flops / intensity)], ['rate', format.flops_rate(dot.flops_per_s)]]));
      group.append(mark);
    }
  }
  const marks = dots.map((dot) => {
    const share = dot.kernel.time_ms / total_ms;
    const of_roof = dot.flops_per_s / attainable(dot.intensity, bandwidth, peak);
    const mark = s('circle', {
      class: `dot ${dot.kernel.bound}`,
      cx: x(dot.intensity), cy: y(dot.flops_per_s), r: 3.5 + 13 * Math.sqrt(share),
      role: 'img',
      'aria-label': `${dot.kernel.kernel}, ${format.milliseconds(dot.kernel.time_ms)}, ${format.percent(share)} of the time, ${dot.kernel.bound} bound`,
    });
    attach_tooltip(mark, () =>
      facts(dot.kernel.kernel, [
        ['operators', dot.kernel.operators.join(', ')],
        ['launches', String(dot.kernel.count)],
        ['time', `${format.milliseconds(dot.kernel.time_ms)} (${format.percent(share)})`],
        ['bound', bound_label(dot.kernel.bound)],
        ['intensity', `${format.sig(dot.intensity)} FLOP/B`],
        ...kLevels.map((level) => [`at ${level.name}`, intensity_at(dot.kernel, level.key) && `${format.sig(intensity_at(dot.kernel, level.key))} FLOP/B`] as [string, string | undefined]),
        ['rate', format.flops_rate(dot.flops_per_s)],
        ['of the roof', format.percent(of_roof)],
      ]),
    );
    return mark;
  });
  // Small dots lie above large ones, so that each can be pointed at.
  group.append(...[...marks].sort((a, b) => Number(b.getAttribute('r')) - Number(a.getAttribute('r'))));
  walkable(marks);
  svg.append(group);
  return svg;
}

/** How busy the device is, in one line. */
function use_line(result: DeviceResult): HTMLElement | null {
  const use = result.utilisation;
  if (!use) return null;
  const percent = format.percent;
  return h('p', { class: 'note' }, `Busy ${percent(use.gpu_busy)} of the time; tensor cores in use ${percent(use.tensor_core_time)} of it, at ${percent(use.tensor_core)} of their peak; memory at ${percent(use.memory_bandwidth)} of its bandwidth.`);
}

export function render_roofline(result: DeviceResult, device: Device, precision: string): HTMLElement {
  const kernels = result.breakdown ?? [];
  const dots = dots_of(kernels).sort((a, b) => b.kernel.time_ms - a.kernel.time_ms);
  const total_ms = kernels.reduce((sum, k) => sum + k.time_ms, 0);
  if (!dots.length) return h('p', { class: 'empty' }, 'This answer has no breakdown into kernels, so there is nothing to draw.');
  const left_out = kernels.length - dots.length;
  return h(
    'div',
    {},
    legend(bounds_in(dots.map((dot) => dot.kernel.bound)).map((bound) => ({ label: bound_label(bound), swatch: bound })).concat([{ label: 'at L2', swatch: 'level-l2' }, { label: 'at L1', swatch: 'level-l1' }])),
    use_line(result),
    responsive((width) => draw(width, device, precision, dots, total_ms)),
    h('p', { class: 'note' }, 'A dot’s area is its share of the time. ', left_out > 0 && `${left_out} kernel${left_out > 1 ? 's' : ''} without arithmetic ${left_out > 1 ? 'are' : 'is'} not drawn.`),
    data_table(
      `Kernels on ${device.name}`,
      ['Kernel', 'Intensity (FLOP/B)', 'Rate', 'Time', 'Bound'],
      dots.map((d) => [d.kernel.kernel, format.sig(d.intensity), format.flops_rate(d.flops_per_s), format.milliseconds(d.kernel.time_ms), d.kernel.bound]),
    ),
  );
}
