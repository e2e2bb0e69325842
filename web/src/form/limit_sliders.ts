// The limits as sliders on a logarithmic scale, each with its number; off until moved.
import { h } from '../dom.ts';
import * as format from '../format.ts';
import { kLimits, type Limit, type LimitField } from '../results/limits.ts';
import { is_serving_view, type View } from '../state.ts';
import { help } from './help.ts';

const kSteps = 200;

/** Rounded to two digits, so that a slider gives numbers that people say. */
export function value_at(step: number, [least, most]: readonly [number, number]): number {
  return Number((least * (most / least) ** (step / kSteps)).toPrecision(2));
}
export function step_of(value: number, [least, most]: readonly [number, number]): number {
  return Math.round((kSteps * Math.log(value / least)) / Math.log(most / least));
}

interface Slider {
  limit: Limit;
  row: HTMLElement;
  range: HTMLInputElement;
  number: HTMLInputElement;
  clear: HTMLButtonElement;
}

export class LimitSliders {
  readonly element: HTMLElement;
  private readonly sliders: Slider[];

  constructor(patch: (change: Partial<View>) => void) {
    this.sliders = kLimits.map((limit) => {
      const set = (value: number | null) => patch({ [limit.field]: value } as Partial<Record<LimitField, number | null>>);
      const id = limit.field.replaceAll('_', '-');
      const range: HTMLInputElement = h('input', { id: `${id}-slider`, type: 'range', min: 0, max: kSteps, step: 1, 'aria-label': `${limit.label}, slider`, oninput: () => set(value_at(Number(range.value), limit.range)) });
      const number: HTMLInputElement = h('input', { id, type: 'text', inputmode: 'decimal', autocomplete: 'off', placeholder: 'any', oninput: () => {
        const text = number.value.trim();
        const value = Number(text);
        const is_right = text === '' || (Number.isFinite(value) && value > 0);
        number.setAttribute('aria-invalid', String(!is_right));
        if (is_right) set(text === '' ? null : value);
      } });
      const clear = h('button', { type: 'button', class: 'clear', 'aria-label': `Remove the limit “${limit.label}”`, onclick: () => set(null) }, '×');
      const row = h('div', { class: 'limit' },
        h('span', { class: 'label-row' }, h('label', { for: id }, limit.label), help(limit.label, limit.help)),
        h('span', { class: 'limit-value' }, number, h('small', {}, limit.unit), clear),
        range);
      return { limit, row, range, number, clear };
    });
    this.element = h('fieldset', { class: 'group limits' }, h('legend', {}, 'Limits'), ...this.sliders.map((slider) => slider.row));
  }

  sync(view: View): void {
    const is_serving = is_serving_view(view);
    for (const { limit, row, range, number, clear } of this.sliders) {
      const value = view[limit.field];
      row.hidden = limit.serving !== null && limit.serving !== is_serving;
      row.classList.toggle('off', value === null);
      clear.hidden = value === null;
      if (document.activeElement !== range) range.value = String(value === null ? (limit.is_most ? kSteps : 0) : step_of(value, limit.range));
      range.setAttribute('aria-valuetext', value === null ? 'no limit' : `${format.sig(value)} ${limit.unit}`);
      if (document.activeElement !== number) {
        number.value = value === null ? '' : String(value);
        number.setAttribute('aria-invalid', 'false');
      }
    }
  }
}
