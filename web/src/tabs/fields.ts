// Labelled inputs of a tab's form, read when its button is pressed.
import { h, select, type Choice } from '../dom.ts';

export const number_input = (id: string, value: string, hint = ''): HTMLInputElement =>
  h('input', { id, type: 'number', min: 0, step: 'any', inputmode: 'decimal', value, placeholder: hint });

export const labelled = (label: string, control: HTMLElement, hint = ''): HTMLElement =>
  h('div', { class: 'field' }, h('label', { for: control.id, title: hint }, label), control);

export const choice = (id: string, values: readonly Choice[]): HTMLSelectElement => select(values, { id });

/** The number in an input; undefined when it is empty or none. */
export function number_of(input: HTMLInputElement): number | undefined {
  const value = Number(input.value);
  return input.value.trim() !== '' && Number.isFinite(value) && value > 0 ? value : undefined;
}

/** An object without its undefined members. */
export function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''));
}

/** The device that a tab asks about: the chosen ones of the form, or nothing yet. */
export function sync_devices(chooser: HTMLSelectElement, devices: readonly string[], name_of: (id: string) => string): void {
  const before = chooser.value;
  chooser.replaceChildren(...devices.map((id) => h('option', { value: id }, name_of(id))));
  if (devices.includes(before)) chooser.value = before;
}
