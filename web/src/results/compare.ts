// Devices against each other: latency over price, with the ones that no other beats joined by a line.
import { check_radio, h, s, segmented } from '../dom.ts';
import * as format from '../format.ts';
import { data_table, draw_axes, plot_box, responsive, svg_root, walkable } from '../plot/frame.ts';
import { extent, log, log_padded } from '../plot/scale.ts';
import { attach_tooltip, facts } from '../plot/tooltip.ts';
import { device_name, type Row } from './columns.ts';

export interface Point {
  id: string;
  name: string;
  price: number;
  latency: number;
  low: number;
  high: number;
  fits: boolean;
}

const kAxes = [
  { value: 'usd_per_million', label: 'per million samples', axis: 'USD per million samples' },
  { value: 'usd_per_hour', label: 'per hour', axis: 'USD per hour' },
] as const;

export function points_of(rows: readonly Row[], price_axis: string): Point[] {
  return rows.flatMap((row) => {
    const latency = row.result.estimates.latency_ms;
    const advice = row.result.advice ?? {};
    const price = price_axis === 'usd_per_hour' ? advice.usd_per_hour : advice.usd_per_million;
    if (!latency || !(latency.value > 0) || !price) return [];
    return [{ id: row.result.device, name: device_name(row), price, latency: latency.value, low: latency.low, high: latency.high, fits: advice.fits !== false }];
  });
}

/** Points that no other point beats in both price and latency, cheapest first. */
export function pareto_front(points: readonly Point[]): Point[] {
  const front: Point[] = [];
  for (const point of [...points].filter((p) => p.fits).sort((a, b) => a.price - b.price || a.latency - b.latency))
    if (!front.length || point.latency < front[front.length - 1]!.latency) front.push(point);
  return front;
}

interface Rect { x: number; y: number; w: number; h: number }
const overlap = (a: Rect, b: Rect) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

function draw(width: number, points: readonly Point[], axis_label: string, focus: string, on_focus: (id: string) => void): SVGSVGElement {
  const height = Math.round(Math.min(380, Math.max(280, width * 0.62)));
  const box = plot_box(width, height, { right: 20 });
  const x = log(log_padded(extent(points.map((p) => p.price))!, 0.14), [box.left, box.right], 6);
  const y = log(log_padded(extent(points.flatMap((p) => [p.low > 0 ? p.low : p.latency, p.high]))!), [box.bottom, box.top], 5);
  const svg = svg_root(width, height, `Latency against price of ${points.length} devices. Arrow keys go from device to device.`);
  svg.append(draw_axes(box, { scale: x, label: axis_label }, { scale: y, label: 'Latency (ms)' }));
  const front = pareto_front(points);
  if (front.length > 1) svg.append(s('path', { class: 'front', d: 'M' + front.map((p) => `${x(p.price)} ${y(p.latency)}`).join('L'), 'aria-hidden': 'true' }));

  const taken: Rect[] = points.map((p) => ({ x: x(p.price) - 6, y: y(p.latency) - 6, w: 12, h: 12 }));
  const whiskers: Rect[] = points.map((p) => ({ x: x(p.price) - 3, y: y(p.high), w: 6, h: y(p.low > 0 ? p.low : p.latency) - y(p.high) }));
  const labels = s('g', { 'aria-hidden': 'true' });
  const marks = [...points].sort((a, b) => a.latency - b.latency).map((p) => {
    const [cx, cy] = [x(p.price), y(p.latency)];
    const clamp = (value: number) => Math.min(box.bottom, Math.max(box.top, y(value)));
    const mark = s(
      'g',
      { class: `point ${p.id === focus ? 'focused' : ''} ${p.fits ? '' : 'unfit'}`, role: 'img', 'aria-label': `${p.name}: ${format.sig(p.latency)} ms, ${format.dollars(p.price)}${p.fits ? '' : ', does not fit'}`, onclick: () => on_focus(p.id) },
      s('path', { class: 'whisker', d: `M${cx - 3} ${clamp(p.low > 0 ? p.low : p.latency)}h6m-3 0V${clamp(p.high)}m-3 0h6` }),
      s('circle', { cx, cy, r: 5 }),
      s('circle', { class: 'halo', cx, cy, r: 13 }),
    );
    attach_tooltip(mark, () =>
      facts(p.name, [
        ['latency', `${format.sig(p.latency)} ms`],
        ['90 % interval', `${format.sig(p.low)} – ${format.sig(p.high)} ms`],
        ['price', `${format.dollars(p.price)} ${axis_label.replace('USD ', '')}`],
        ['fits', p.fits ? 'yes' : 'no'],
      ]),
    );
    const w = p.name.length * 6.6;
    const spots: readonly (readonly [Rect, string, number, number])[] = [
      [{ x: cx + 8, y: cy - 7, w, h: 13 }, 'start', cx + 9, cy + 4],
      [{ x: cx - 8 - w, y: cy - 7, w, h: 13 }, 'end', cx - 9, cy + 4],
      [{ x: cx - w / 2, y: cy - 22, w, h: 13 }, 'middle', cx, cy - 12],
      [{ x: cx - w / 2, y: cy + 9, w, h: 13 }, 'middle', cx, cy + 19],
      [{ x: cx + 6, y: cy - 20, w, h: 13 }, 'start', cx + 7, cy - 9],
      [{ x: cx + 6, y: cy + 7, w, h: 13 }, 'start', cx + 7, cy + 18],
      [{ x: cx - 6 - w, y: cy - 20, w, h: 13 }, 'end', cx - 7, cy - 9],
      [{ x: cx - 6 - w, y: cy + 7, w, h: 13 }, 'end', cx - 7, cy + 18],
    ];
    const free = spots.filter(([r]) => r.x > box.left && r.x + r.w < box.right + 16 && r.y > 0 && r.y + r.h < box.bottom && !taken.some((t) => overlap(t, r)));
    // Better beside the other devices' whiskers than across them.
    const spot = free.find(([r]) => !whiskers.some((t) => overlap(t, r))) ?? free[0];
    if (spot) {
      taken.push(spot[0]);
      labels.append(s('text', { class: `point-label ${p.fits ? '' : 'unfit'}`, x: spot[2], y: spot[3], 'text-anchor': spot[1] }, p.name));
    }
    return mark;
  });
  walkable(marks);
  svg.append(labels, ...marks);
  return svg;
}

export function render_compare(rows: readonly Row[], price_axis: string, focus: string, on_axis: (axis: string) => void, on_focus: (id: string) => void): HTMLElement {
  const axis = kAxes.find((a) => a.value === price_axis) ?? kAxes[0];
  const points = points_of(rows, axis.value);
  const switcher = segmented('Price', 'price-axis', kAxes, on_axis);
  check_radio(switcher, axis.value);
  const unpriced = rows.length - points.length;
  if (!points.length) return h('p', { class: 'empty' }, 'None of these devices has a known price.');
  return h(
    'div',
    {},
    h('div', { class: 'plot-controls' }, switcher),
    responsive((width) => draw(width, points, axis.axis, focus, on_focus)),
    h('p', { class: 'note' }, 'Lower and further left is better; the line joins the devices that no other one beats in both. ', unpriced > 0 && `${unpriced} device${unpriced > 1 ? 's' : ''} without a known price left out.`),
    data_table(`Latency and price`, ['Device', 'Latency (ms)', '90 % interval (ms)', axis.axis, 'Fits'], points.map((p) => [p.name, format.sig(p.latency), `${format.sig(p.low)} – ${format.sig(p.high)}`, format.dollars(p.price), p.fits ? 'yes' : 'no'])),
  );
}
