// A few lines over a common x, drawn small: one plot of the load curve.
import { h, s } from '../dom.ts';
import { draw_axes, legend, plot_box, responsive, svg_root } from '../plot/frame.ts';
import { extent, linear, log, log_padded } from '../plot/scale.ts';

export interface Series {
  name: string;
  points: readonly (readonly [number, number])[];
}

export interface LinePlot {
  title: string;
  x_label: string;
  y_label: string;
  series: readonly Series[];
  is_log: boolean;
  /** A limit on y, and an x from which the system is saturated. */
  limit?: number;
  saturated_from?: number;
}

function draw(width: number, plot: LinePlot): SVGSVGElement {
  const height = Math.round(Math.min(300, Math.max(220, width * 0.5)));
  const box = plot_box(width, height, { left: 62, right: 18 });
  const all = plot.series.flatMap((line) => line.points);
  const [low, high] = extent([...all.map((point) => point[1]), plot.limit]) ?? [1, 10];
  const right = Math.max(...all.map((point) => point[0]), plot.saturated_from ?? 0);
  const x = linear([0, right * 1.03], [box.left, box.right], 6);
  const y = plot.is_log ? log(log_padded([low, high]), [box.bottom, box.top], 5) : linear([0, high * 1.05], [box.bottom, box.top], 5);
  const svg = svg_root(width, height, `${plot.title} against requests per second`);
  svg.append(draw_axes(box, { scale: x, label: plot.x_label }, { scale: y, label: plot.y_label }));
  plot.series.forEach((line, index) => {
    const at = line.points.map(([px, py]) => `${x(px)} ${y(py)}`);
    if (at.length > 1) svg.append(s('path', { class: `line series-${index}`, d: `M${at.join('L')}` }));
    for (const [px, py] of line.points)
      svg.append(s('circle', { class: `sweep-point series-${index}`, cx: x(px), cy: y(py), r: 3.2 }));
  });
  if (plot.limit !== undefined) svg.append(s('line', { class: 'limit', x1: box.left, x2: box.right, y1: y(plot.limit), y2: y(plot.limit) }));
  if (plot.saturated_from !== undefined) {
    const at = x(plot.saturated_from);
    svg.append(s('line', { class: 'limit', x1: at, x2: at, y1: box.top, y2: box.bottom }), s('text', { class: 'tick', x: at - 4, y: box.top + 10, 'text-anchor': 'end' }, 'saturated'));
  }
  return svg;
}

export function line_plot(plot: LinePlot): HTMLElement {
  return h(
    'div',
    { class: 'line-plot' },
    h('h3', {}, plot.title),
    plot.series.length > 1 && legend(plot.series.map((line, index) => ({ label: line.name, swatch: `series-${index}` }))),
    responsive((width) => draw(width, plot)),
  );
}
