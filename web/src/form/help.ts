// A question mark beside a field's label: its explanation on hover, focus and click.
import { h } from '../dom.ts';
import { attach_tooltip, facts, hide_tooltip, show_tooltip } from '../plot/tooltip.ts';

export function help(label: string, text: string): HTMLButtonElement {
  const content = () => facts(label, [], text);
  const button = h('button', { type: 'button', class: 'help', 'aria-label': `What is “${label}”?`, 'data-help': text }, '?');
  attach_tooltip(button, content);
  button.addEventListener('click', () => {
    const at = button.getBoundingClientRect();
    show_tooltip(at.right, at.bottom, content());
  });
  button.addEventListener('blur', hide_tooltip);
  return button;
}

/** A labelled control with its explanation, and room for what is wrong with its text. */
export function field(label: string, control: HTMLElement, text: string): HTMLElement {
  const problem = h('small', { class: 'field-error', id: `${control.id}-problem`, role: 'status' });
  control.setAttribute('aria-describedby', problem.id);
  return h('div', { class: 'field' }, h('span', { class: 'label-row' }, h('label', { for: control.id }, label), help(label, text)), control, problem);
}

/** Shows what is wrong with a control's text; nothing when it is right. */
export function set_problem(control: HTMLElement, text: string): void {
  control.setAttribute('aria-invalid', String(text !== ''));
  const place = document.getElementById(`${control.id}-problem`) ?? control.parentElement?.querySelector('.field-error');
  if (place && place.textContent !== text) place.textContent = text;
}
