// Choose the network: by name, by file, or by a pasted Hugging Face config.
import { upload_of, type Network, type Upload } from '../api.ts';
import { check_radio, h, segmented } from '../dom.ts';
import * as format from '../format.ts';
import type { Source, View } from '../state.ts';

export interface NetworkEvents {
  on_source: (source: Source) => void;
  on_name: (name: string) => void;
  on_upload: (upload: Upload) => void;
  on_config: (text: string) => void;
}

/** All words of the query occur in the network's name, family or task. */
export function matching_networks(networks: readonly Network[], query: string): Network[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return networks.filter((n) => {
    const text = `${n.name} ${n.architecture ?? ''} ${n.task ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** What is wrong with a pasted config; empty when nothing is. */
export function config_problem(text: string): string {
  if (!text.trim()) return 'Paste the contents of a config.json.';
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return '';
    return 'A config is a JSON object: { … }.';
  } catch (error) {
    return `Not JSON yet: ${(error as Error).message}`;
  }
}

export class NetworkPicker {
  readonly element: HTMLElement;
  private networks: readonly Network[] = [];
  private shown: Network[] = [];
  private active = -1;
  private chosen = '';
  private readonly source: HTMLFieldSetElement;
  private readonly panels: Record<Source, HTMLElement>;
  private readonly name_input: HTMLInputElement;
  private readonly list: HTMLUListElement;
  private readonly file_name: HTMLElement;
  private readonly config_input: HTMLTextAreaElement;
  private readonly config_error: HTMLElement;

  constructor(private readonly events: NetworkEvents) {
    this.source = segmented('Network', 'source', [
      { value: 'name', label: 'By name' },
      { value: 'file', label: 'File' },
      { value: 'config', label: 'Config' },
    ], (value) => events.on_source(value as Source));

    this.list = h('ul', { id: 'network-list', role: 'listbox', class: 'options', 'aria-label': 'Networks', hidden: true });
    this.name_input = h('input', {
      id: 'network-name', type: 'text', role: 'combobox', autocomplete: 'off', spellcheck: 'false',
      'aria-expanded': 'false', 'aria-controls': 'network-list', 'aria-autocomplete': 'list', placeholder: 'resnet, bert, llama …',
      oninput: () => this.open(this.name_input.value),
      onfocus: () => this.name_input.select(),
      onclick: () => this.open(''),
      onblur: () => this.close(),
      onkeydown: (event: Event) => this.on_key(event as KeyboardEvent),
    });

    const chooser = h('input', { type: 'file', id: 'model-file', multiple: true, class: 'sr-only', onchange: () => {
      const upload = upload_of([...(chooser.files ?? [])]);
      if (upload) events.on_upload(upload);
      chooser.value = '';
    } });
    this.file_name = h('span', { class: 'file-name' });
    const drop = h('label', { class: 'drop', for: 'model-file' }, this.file_name, h('small', {}, 'ONNX, PyTorch, TensorFlow, Keras, PaddlePaddle, GGUF or a config.json; a .zip or .tar.gz of a folder; or several files of one network. Read on the server and not kept.'));

    this.config_error = h('small', { class: 'field-error', id: 'config-error', role: 'status' });
    this.config_input = h('textarea', {
      id: 'config-text', rows: 7, spellcheck: 'false', 'aria-describedby': 'config-error',
      placeholder: '{\n  "architectures": ["LlamaForCausalLM"],\n  "hidden_size": 4096,\n  …\n}',
      oninput: () => {
        this.config_error.textContent = config_problem(this.config_input.value);
        events.on_config(this.config_input.value);
      },
    });

    this.panels = {
      name: h('div', { class: 'combobox' }, h('label', { class: 'sr-only', for: 'network-name' }, 'Network’s name'), this.name_input, this.list),
      file: h('div', {}, chooser, drop),
      config: h('div', {}, h('label', { class: 'sr-only', for: 'config-text' }, 'Hugging Face config.json'), this.config_input, this.config_error),
    };
    this.element = h('section', { class: 'group', 'aria-label': 'Network' }, this.source, ...Object.values(this.panels));
  }

  set_networks(networks: readonly Network[]): void {
    this.networks = networks;
  }

  sync(view: View, upload: Upload | null): void {
    check_radio(this.source, view.source);
    for (const [source, panel] of Object.entries(this.panels)) panel.hidden = source !== view.source;
    this.chosen = view.network;
    if (document.activeElement !== this.name_input) this.name_input.value = view.network;
    this.file_name.replaceChildren(...(upload ? [h('b', {}, upload.name), ` ${format.file_size(upload.size)}`] : ['Drop a model file here, or ', h('u', {}, 'choose one')]));
    if (document.activeElement !== this.config_input && this.config_input.value !== view.config) this.config_input.value = view.config;
    this.config_error.textContent = view.source === 'config' ? config_problem(view.config) : '';
  }

  private open(query: string): void {
    this.shown = matching_networks(this.networks, query);
    this.active = this.shown.findIndex((n) => n.name === this.chosen);
    this.list.replaceChildren(
      ...(this.shown.length
        ? this.shown.map((n, index) =>
            h('li', { role: 'option', id: `network-${index}`, 'aria-selected': String(n.name === this.chosen), onpointerdown: (event: Event) => { event.preventDefault(); this.choose(n.name); } },
              h('span', {}, n.name),
              h('small', {}, [n.task, n.parameters && format.count(n.parameters)].filter(Boolean).join(' · ')),
            ),
          )
        : [h('li', { class: 'empty' }, 'No network of that name. Drop a file or paste a config instead.')]),
    );
    this.list.hidden = false;
    this.name_input.setAttribute('aria-expanded', 'true');
    this.mark_active();
  }

  private close(): void {
    this.list.hidden = true;
    this.name_input.setAttribute('aria-expanded', 'false');
    this.name_input.removeAttribute('aria-activedescendant');
    const exact = this.networks.find((n) => n.name === this.name_input.value.trim());
    if (exact && exact.name !== this.chosen) this.choose(exact.name);
    else this.name_input.value = this.chosen;
  }

  private choose(name: string): void {
    this.chosen = name;
    this.name_input.value = name;
    this.close();
    this.events.on_name(name);
  }

  private mark_active(): void {
    [...this.list.children].forEach((item, index) => item.classList.toggle('active', index === this.active));
    const item = this.list.children[this.active];
    if (item) {
      this.name_input.setAttribute('aria-activedescendant', item.id);
      item.scrollIntoView({ block: 'nearest' });
    } else this.name_input.removeAttribute('aria-activedescendant');
  }

  private on_key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (this.list.hidden) this.open('');
      else {
        this.active = (this.active + step + this.shown.length) % Math.max(1, this.shown.length);
        this.mark_active();
      }
    } else if (event.key === 'Enter' && !this.list.hidden) {
      event.preventDefault();
      const picked = this.shown[this.active] ?? this.shown[0];
      if (picked) this.choose(picked.name);
    } else if (event.key === 'Escape') this.close();
  }
}
