// Small builders for HTML and SVG elements; the page has no framework beneath it.

export type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | EventListener>;

function apply(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** h('button', {class: 'x', onclick: f}, 'text'): an HTML element. Attributes that are false or null are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, attributes);
  append(element, children);
  return element;
}

/** The same for SVG. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  apply(element, attributes);
  append(element, children);
  return element;
}

export const sr_only = (text: string): HTMLElement => h('span', { class: 'sr-only' }, text);

export interface Choice {
  value: string;
  label: string;
  hint?: string;
}

/** A row of radio buttons drawn as one segmented control. */
export function segmented(
  legend: string,
  name: string,
  choices: readonly Choice[],
  on_change: (value: string) => void,
): HTMLFieldSetElement {
  return h(
    'fieldset',
    { class: 'segmented' },
    h('legend', {}, legend),
    h(
      'div',
      { class: 'segments' },
      ...choices.map((choice) =>
        h(
          'label',
          { title: choice.hint },
          h('input', { type: 'radio', name, value: choice.value, onchange: () => on_change(choice.value) }),
          h('span', {}, choice.label),
        ),
      ),
    ),
  );
}

export function check_radio(root: Element, value: string): void {
  for (const input of root.querySelectorAll<HTMLInputElement>('input[type=radio]')) input.checked = input.value === value;
}

export function select(choices: readonly Choice[], attributes: Attributes = {}): HTMLSelectElement {
  return h('select', attributes, ...choices.map((c) => h('option', { value: c.value, title: c.hint }, c.label)));
}
