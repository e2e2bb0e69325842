// Choose devices: search, presets and a list of check boxes by maker.
import type { Device } from '../api.ts';
import { h } from '../dom.ts';
import * as format from '../format.ts';
import { short_name } from '../results/columns.ts';
import type { View } from '../state.ts';

export interface Preset {
  label: string;
  pick: (devices: readonly Device[]) => Device[];
}

const kUsual = ['h200-sxm', 'h100-sxm', 'a100-sxm-80gb', 'l40s', 'a10', 'l4', 't4', 'rtx-4090'];

/** The devices that most people compare first; the first few of the catalogue when it has none of them. */
export function usual_devices(devices: readonly Device[]): string[] {
  const known = kUsual.filter((id) => devices.some((d) => d.id === id));
  return known.length ? known : devices.slice(0, 6).map((d) => d.id);
}

const architecture_is = (pattern: RegExp) => (d: Device) => pattern.test(d.architecture ?? '');

export const kPresets: readonly Preset[] = [
  { label: 'Usual', pick: (all) => all.filter((d) => usual_devices(all).includes(d.id)) },
  { label: 'Hopper+', pick: (all) => all.filter(architecture_is(/hopper|blackwell/i)) },
  { label: 'Ampere', pick: (all) => all.filter((d) => architecture_is(/ampere/i)(d) && !/^rtx/.test(d.id)) },
  { label: 'RTX', pick: (all) => all.filter((d) => /^rtx/.test(d.id)) },
  { label: 'AMD', pick: (all) => all.filter((d) => /amd/i.test(d.maker)) },
  { label: 'MIG', pick: (all) => all.filter((d) => (d.mig?.length ?? 0) > 0) },
  { label: 'All', pick: (all) => [...all] },
  { label: 'None', pick: () => [] },
];

const kMakers = ['NVIDIA', 'AMD', 'Intel'];
const maker_rank = (maker: string) => (kMakers.indexOf(maker) + kMakers.length + 1) % (kMakers.length + 1);

/** By maker, then the newest and largest first. */
export function newest_first(devices: readonly Device[]): Device[] {
  return [...devices].sort((a, b) =>
    maker_rank(a.maker) - maker_rank(b.maker) || (b.year ?? 0) - (a.year ?? 0) || b.memory_bandwidth_gb_per_s - a.memory_bandwidth_gb_per_s);
}

export function matching_devices(devices: readonly Device[], query: string): Device[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return devices.filter((d) => {
    const text = `${d.id} ${d.name} ${d.maker} ${d.architecture ?? ''} ${d.kind ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export class DevicePicker {
  readonly element: HTMLElement;
  private devices: readonly Device[] = [];
  private chosen = new Set<string>();
  private readonly search: HTMLInputElement;
  private readonly presets = h('div', { class: 'presets', role: 'group', 'aria-label': 'Presets of devices' });
  private readonly list = h('div', { class: 'device-list' });
  private readonly summary = h('span', { class: 'count', role: 'status' });

  constructor(private readonly on_change: (ids: string[]) => void) {
    this.search = h('input', { id: 'device-search', type: 'search', placeholder: 'Search: a100, hopper, amd …', autocomplete: 'off', spellcheck: 'false', oninput: () => this.render() });
    this.element = h(
      'fieldset',
      { class: 'group device-picker' },
      h('legend', {}, 'Devices ', this.summary),
      this.presets,
      h('label', { class: 'sr-only', for: 'device-search' }, 'Search devices'),
      this.search,
      this.list,
    );
  }

  set_devices(devices: readonly Device[]): void {
    this.devices = newest_first(devices);
    this.presets.replaceChildren(
      ...kPresets
        .filter((preset) => preset.label === 'None' || preset.pick(devices).length > 0)
        .map((preset) => h('button', { type: 'button', onclick: () => this.on_change(preset.pick(this.devices).map((d) => d.id)) }, preset.label)),
    );
    this.render();
  }

  sync(view: View): void {
    this.chosen = new Set(view.devices);
    this.summary.textContent = this.devices.length ? `${this.chosen.size} of ${this.devices.length}` : '';
    for (const box of this.list.querySelectorAll<HTMLInputElement>('input')) box.checked = this.chosen.has(box.value);
  }

  private toggle(id: string, on: boolean): void {
    if (on) this.chosen.add(id);
    else this.chosen.delete(id);
    const order = this.devices.map((d) => d.id);
    this.on_change([...this.chosen].sort((a, b) => order.indexOf(a) - order.indexOf(b)));
  }

  private render(): void {
    const found = matching_devices(this.devices, this.search.value);
    const makers = [...new Set(found.map((d) => d.maker))];
    this.list.replaceChildren(
      ...makers.map((maker) =>
        h(
          'div',
          { role: 'group', 'aria-label': maker },
          h('div', { class: 'maker', 'aria-hidden': 'true' }, maker),
          ...found.filter((d) => d.maker === maker).map((d) => {
            const box = h('input', { type: 'checkbox', value: d.id, onchange: () => this.toggle(d.id, box.checked) });
            box.checked = this.chosen.has(d.id);
            return h('label', {}, box, h('span', { class: 'name', title: d.id }, short_name(d)), h('small', {}, `${format.sig(d.memory_gib)} GB`));
          }),
        ),
      ),
      ...(found.length ? [] : [h('p', { class: 'empty' }, this.devices.length ? 'No device matches.' : 'Loading the catalogue …')]),
    );
  }
}
