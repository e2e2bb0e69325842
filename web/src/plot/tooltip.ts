// One tooltip for the whole page: shown beside the pointer or beside the element in focus.
import { h, type Child } from '../dom.ts';

let box: HTMLElement;

export function install_tooltip(): void {
  box = h('div', { class: 'tooltip', role: 'tooltip', id: 'tooltip', hidden: true });
  document.body.append(box);
  addEventListener('scroll', hide_tooltip, { passive: true, capture: true });
  addEventListener('keydown', (event) => event.key === 'Escape' && hide_tooltip());
}

export function hide_tooltip(): void {
  box.hidden = true;
}

export function show_tooltip(x: number, y: number, content: Child[]): void {
  box.replaceChildren(...content.filter((c): c is Node | string => c instanceof Node || typeof c === 'string'));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = x + 14 + width > innerWidth - 8 ? x - 14 - width : x + 14;
  const top = y + 14 + height > innerHeight - 8 ? y - 14 - height : y + 14;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${Math.max(8, top)}px`;
}

/** A title and name–value pairs, the form all tooltips share. */
export function facts(title: string, pairs: readonly (readonly [string, string | undefined])[], note?: string): Child[] {
  return [
    h('strong', {}, title),
    h(
      'dl',
      {},
      ...pairs
        .filter(([, value]) => value !== undefined && value !== '')
        .flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
    ),
    note ? h('p', {}, note) : null,
  ];
}

/** Shows `content` while the pointer is over the element or it has the focus. */
export function attach_tooltip(element: HTMLElement | SVGElement, content: () => Child[]): void {
  element.addEventListener('pointermove', (event) => {
    const pointer = event as PointerEvent;
    show_tooltip(pointer.clientX, pointer.clientY, content());
  });
  element.addEventListener('pointerleave', hide_tooltip);
  element.addEventListener('focus', () => {
    if (!element.matches(':focus-visible')) return;
    const at = element.getBoundingClientRect();
    show_tooltip(at.right, at.bottom, content());
  });
  element.addEventListener('blur', hide_tooltip);
}
