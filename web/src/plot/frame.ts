// Axes, grid and labels around a plot, and the arrow keys that walk through its marks.
import { h, s } from '../dom.ts';
import { sig } from '../format.ts';
import type { Scale } from './scale.ts';

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Axis {
  scale: Scale;
  label: string;
  format?: (value: number) => string;
}

export function plot_box(width: number, height: number, margin: Partial<Box> = {}): Box {
  const { left = 52, right = 14, top = 14, bottom = 42 } = margin;
  return { left, right: width - right, top, bottom: height - bottom };
}

/** A tick's number: short, without trailing noise. */
export const tick_text = (value: number): string => {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e18 || size < 1e-4) return value.toExponential(0);
  for (const [unit, name] of [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']] as const)
    if (size >= unit * (unit === 1e3 ? 10 : 1)) return `${Number((value / unit).toPrecision(3))}${name}`;
  return size >= 1000 ? sig(value, 4) : String(Number(value.toPrecision(3)));
};

export function draw_axes(box: Box, x: Axis, y: Axis): SVGGElement {
  const group = s('g', { class: 'axes', 'aria-hidden': 'true' });
  for (const tick of x.scale.minor) group.append(s('line', { class: 'grid minor', x1: x.scale(tick), x2: x.scale(tick), y1: box.top, y2: box.bottom }));
  for (const tick of y.scale.minor) group.append(s('line', { class: 'grid minor', x1: box.left, x2: box.right, y1: y.scale(tick), y2: y.scale(tick) }));
  for (const tick of x.scale.ticks) {
    const at = x.scale(tick);
    group.append(
      s('line', { class: 'grid', x1: at, x2: at, y1: box.top, y2: box.bottom }),
      s('text', { class: 'tick', x: at, y: box.bottom + 15, 'text-anchor': 'middle' }, (x.format ?? tick_text)(tick)),
    );
  }
  for (const tick of y.scale.ticks) {
    const at = y.scale(tick);
    group.append(
      s('line', { class: 'grid', x1: box.left, x2: box.right, y1: at, y2: at }),
      s('text', { class: 'tick', x: box.left - 7, y: at + 3.5, 'text-anchor': 'end' }, (y.format ?? tick_text)(tick)),
    );
  }
  const middle = (box.top + box.bottom) / 2;
  group.append(
    s('path', { class: 'axis', d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` }),
    s('text', { class: 'axis-label', x: (box.left + box.right) / 2, y: box.bottom + 34, 'text-anchor': 'middle' }, x.label),
    s('text', { class: 'axis-label', x: 0, y: 0, 'text-anchor': 'middle', transform: `translate(12 ${middle}) rotate(-90)` }, y.label),
  );
  return group;
}

export function svg_root(width: number, height: number, description: string): SVGSVGElement {
  return s('svg', { class: 'plot', width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': description });
}

/** One stop in the tab order; the arrow keys go from mark to mark. */
export function walkable(marks: readonly SVGElement[]): void {
  marks.forEach((mark, index) => {
    mark.setAttribute('tabindex', index === 0 ? '0' : '-1');
    mark.addEventListener('keydown', (event) => {
      const key = (event as KeyboardEvent).key;
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
      const next = key === 'Home' ? 0 : key === 'End' ? marks.length - 1 : step ? index + step : -1;
      const target = marks[next];
      if (!target) return;
      event.preventDefault();
      mark.setAttribute('tabindex', '-1');
      target.setAttribute('tabindex', '0');
      target.focus();
    });
  });
}

/** An element that draws itself again whenever its width changes. */
export function responsive(draw: (width: number) => Element): HTMLElement {
  const holder = h('div', { class: 'plot-holder' });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (width < 50 || width === drawn) return;
    drawn = width;
    holder.replaceChildren(draw(width));
  }).observe(holder);
  return holder;
}

/** The plot's numbers as a table, folded away under it. */
export function data_table(caption: string, head: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  return h(
    'details',
    { class: 'data' },
    h('summary', {}, 'Numbers as a table'),
    h(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
      h(
        'table',
        { class: 'plain' },
        h('caption', { class: 'sr-only' }, caption),
        h('thead', {}, h('tr', {}, ...head.map((text) => h('th', { scope: 'col' }, text)))),
        h('tbody', {}, ...rows.map((row) => h('tr', {}, ...row.map((cell, i) => (i === 0 ? h('th', { scope: 'row' }, cell) : h('td', {}, cell)))))),
      ),
    ),
  );
}

export interface LegendEntry {
  label: string;
  swatch: string;
}

export function legend(entries: readonly LegendEntry[]): HTMLElement {
  return h(
    'ul',
    { class: 'legend' },
    ...entries.map(({ label, swatch }) => h('li', {}, h('i', { class: `swatch ${swatch}`, 'aria-hidden': 'true' }), label)),
  );
}
