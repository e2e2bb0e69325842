// The page's one loop: form → view → hash → request → results.
import { ApiError, fetch_devices, fetch_networks, fetch_regions, inspect, predict, save_token, upload_of, type Device, type Upload } from './api.ts';
import { h } from './dom.ts';
import * as format from './format.ts';
import { DevicePicker, usual_devices } from './form/device_picker.ts';
import { config_problem, NetworkPicker } from './form/network_picker.ts';
import { RunOptions } from './form/run_options.ts';
import { install_tooltip, hide_tooltip } from './plot/tooltip.ts';
import { inspect_request, predict_request } from './request.ts';
import { device_name, sort_rows } from './results/columns.ts';
import { render_results, rows_of, type ResultsEvents, type ResultsState } from './results/results.ts';
import { kSweepBatches } from './results/sweep.ts';
import { from_hash, to_hash, type Source, type View } from './state.ts';
import { DevicesTab } from './tabs/devices_tab.ts';
import { ServingTab } from './tabs/serving_tab.ts';
import { Tabs } from './tabs/tabs.ts';
import { theme_button } from './theme.ts';
import './styles/base.css';
import './styles/form.css';
import './styles/results.css';
import './styles/plots.css';
import './styles/tabs.css';

/** Files larger than this are sent only when asked for, not at every change. */
/** Up to so many devices the batch size is swept unasked. */
const kAutoSweepDevices = 12;
const kAutoSweepDelayMs = 500;
const kAutoSendBytes = 32 * 2 ** 20;
const kDebounceMs = 250;

const state: ResultsState = {
  view: from_hash(location.hash),
  upload: null,
  devices: new Map<string, Device>(),
  report: null,
  network: null,
  error: null,
  waiting: '',
  sweep: { points: [], running: false, error: '' },
};
let answered_key = '';
let running = new AbortController();
let timer = 0;
let first_network = '';

const results = h('main', { id: 'results', 'aria-label': 'Answer', tabindex: -1 });
const progress = h('div', { class: 'progress', hidden: true, 'aria-hidden': 'true' });
const spoken = h('div', { class: 'sr-only', role: 'status', 'aria-live': 'polite' });
const toast = h('div', { class: 'toast', role: 'status', hidden: true });
const submit = h('button', { type: 'submit', class: 'primary', id: 'predict' }, 'Predict');

const network_picker = new NetworkPicker({
  on_source: (source: Source) => patch({ source }),
  on_name: (network) => patch({ network, source: 'name' }),
  on_config: (config) => patch({ config }),
  on_upload: use_upload,
});
const run_options = new RunOptions(patch);
const serving_tab = new ServingTab();
const devices_tab = new DevicesTab();
const tabs = new Tabs(
  [{ id: 'pass', label: 'One pass' }, { id: 'serving', label: 'Serving', panel: serving_tab.panel }, { id: 'devices', label: 'Several devices', panel: devices_tab.panel }],
  results, (tab) => patch({ tab }));
const device_picker = new DevicePicker((devices) => patch({ devices }));

function use_upload(upload: Upload): void {
  state.upload = upload;
  patch({ source: 'file' });
  if (upload.size > kAutoSendBytes) void ask();
}

function patch(change: Partial<View>): void {
  state.view = { ...state.view, ...change };
  history.replaceState(null, '', to_hash(state.view));
  refresh();
}

/** What the answer depends on: when this changes, the server is asked again. */
function request_key(): string {
  const { view, upload } = state;
  if (missing()) return '';
  const network = view.source === 'file' ? upload!.files.map((file) => `${file.name} ${file.size} ${file.lastModified}`).join(' ') : '';
  return JSON.stringify([network, predict_request(view)]);
}

/** What is still to be given before the server can be asked. */
function missing(): string {
  const { view, upload } = state;
  if (view.source === 'name' && !view.network) return 'Pick a network by name, drop a model file anywhere on this page, or paste a config.';
  if (view.source === 'file' && !upload) return 'Drop a model file anywhere on this page, or choose one. A link cannot carry the file itself.';
  if (view.source === 'config' && config_problem(view.config)) return config_problem(view.config);
  if (!view.devices.length) return 'Choose at least one device.';
  return '';
}

function refresh(): void {
  network_picker.sync(state.view, state.upload);
  run_options.sync(state.view);
  device_picker.sync(state.view);
  const name_of = (id: string) => state.devices.get(id)?.name ?? id;
  serving_tab.sync(state.view, state.upload, name_of);
  devices_tab.sync(state.view, state.upload, name_of, (id) => state.devices.get(id)?.memory_gib);
  tabs.open(state.view.tab);
  state.waiting = missing();
  const key = request_key();
  clearTimeout(timer);
  if (key && key !== answered_key) {
    const heavy = state.view.source === 'file' && (state.upload?.size ?? 0) > kAutoSendBytes;
    if (heavy) state.waiting = 'Changed. Press Predict to send the file again.';
    else timer = window.setTimeout(ask, state.report ? kDebounceMs : 0);
  }
  if (!key) running.abort();
  render();
}

async function ask(): Promise<void> {
  const key = request_key();
  if (!key) return;
  clearTimeout(timer);
  running.abort();
  const control = (running = new AbortController());
  const { view } = state;
  const upload = view.source === 'file' ? state.upload : null;
  set_busy(true);
  try {
    const [report, network] = await Promise.all([
      predict(predict_request(view), upload, control.signal),
      inspect(inspect_request(view), upload, control.signal),
    ]);
    if (control.signal.aborted) return;
    answered_key = key;
    Object.assign(state, { report, network, error: null, waiting: '', sweep: { points: [], running: false, error: '' } });
    announce();
  } catch (error) {
    if (control.signal.aborted) return;
    answered_key = '';
    state.error = error instanceof ApiError ? error : new ApiError(String(error), 0, 'No answer');
  }
  set_busy(false);
  render();
  // Quick to answer: drawn without being asked for. A file would have to be sent again for every batch size.
  if (!state.error && !upload && view.devices.length <= kAutoSweepDevices) {
    setTimeout(() => control === running && request_key() === key && void run_sweep(true), kAutoSweepDelayMs);
  }
}

function announce(): void {
  const best = sort_rows(rows_of(state), 'latency', false)[0];
  const latency = best?.result.estimates.latency_ms;
  if (best && latency) spoken.textContent = `${state.report!.results.length} devices. Fastest: ${device_name(best)}, ${format.sig(latency.value)} milliseconds.`;
}

/** `unasked`: drawn once at its end, so that the page stays free for its user. */
async function run_sweep(unasked = false): Promise<void> {
  const { view, upload } = state;
  const key = request_key();
  if (!key || state.sweep.running) return;
  const control = running;
  state.sweep = { points: [], running: true, error: '' };
  if (!unasked) render_card('sweep');
  for (const batch of kSweepBatches) {
    try {
      const report = await predict({ ...predict_request(view), batch }, view.source === 'file' ? upload : null, control.signal);
      if (control.signal.aborted || request_key() !== key) return;
      state.sweep = { ...state.sweep, points: [...state.sweep.points, { batch, report }] };
    } catch (error) {
      if (control.signal.aborted) return;
      state.sweep = { ...state.sweep, running: false, error: `Batch ${batch}: ${(error as Error).message}` };
      return render_card('sweep');
    }
    if (!unasked) render_card('sweep');
  }
  state.sweep = { ...state.sweep, running: false };
  render_card('sweep');
}

function set_busy(busy: boolean): void {
  progress.hidden = !busy;
  results.setAttribute('aria-busy', String(busy));
}

async function copy(what: string, text: string): Promise<void> {
  let said = what;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure context there is no clipboard: select the text for the user instead.
    const area = h('textarea', { class: 'sr-only' }, text);
    document.body.append(area);
    area.select();
    if (!document.execCommand('copy')) said = 'Copying is not allowed here';
    area.remove();
  }
  toast.textContent = said;
  toast.hidden = false;
  setTimeout(() => (toast.hidden = true), 2500 + 40 * said.length);
}

const events: ResultsEvents = {
  patch,
  run_sweep: () => void run_sweep(),
  copy: (what, text) => void copy(what, text),
  use_token: (token) => {
    save_token(token);
    void start();
  },
};

/** Draws the results anew and gives the focus back to the control that had it. */
function render(): void {
  const active = document.activeElement;
  const selector = active instanceof HTMLElement && results.contains(active)
    ? active.dataset['sort'] ? `[data-sort="${active.dataset['sort']}"]`
      : active instanceof HTMLInputElement ? `input[name="${active.name}"][value="${CSS.escape(active.value)}"]`
        : active.id ? `#${active.id}` : ''
    : '';
  const open = new Set([...results.querySelectorAll<HTMLElement>('.card details[open]')].map((d) => d.closest('.card')?.id));
  const scroll = results.querySelector('.table-scroll')?.scrollLeft ?? 0;
  hide_tooltip();
  results.classList.toggle('stale', state.waiting !== '' && state.report !== null);
  results.replaceChildren(...render_results(state, events));
  for (const id of open) if (id) results.querySelector<HTMLDetailsElement>(`#${id} details.data`)?.setAttribute('open', '');
  const table = results.querySelector('.table-scroll');
  if (table) table.scrollLeft = scroll;
  if (selector) results.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });
}

/** Draws one card anew: what the user reads or points at elsewhere stays as it is. */
function render_card(id: string): void {
  const fresh = h('div', {}, ...render_results(state, events)).querySelector(`#${id}`);
  const had_focus = document.activeElement?.id;
  if (fresh) results.querySelector(`#${id}`)?.replaceWith(fresh);
  if (had_focus && document.activeElement?.id !== had_focus) results.querySelector<HTMLElement>(`#${had_focus}`)?.focus({ preventScroll: true });
}

function install_drop(): void {
  let depth = 0;
  const has_file = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
  addEventListener('dragenter', (event) => has_file(event) && document.body.classList.toggle('dropping', ++depth > 0));
  addEventListener('dragleave', (event) => has_file(event) && document.body.classList.toggle('dropping', --depth > 0));
  addEventListener('dragover', (event) => has_file(event) && event.preventDefault());
  addEventListener('drop', (event) => {
    depth = 0;
    document.body.classList.remove('dropping');
    const upload = upload_of([...(event.dataTransfer?.files ?? [])]);
    if (!upload) return;
    event.preventDefault();
    use_upload(upload);
  });
}

/** Shows what the address bar says; a link that names no devices or network gets the usual ones. */
function open_link(): void {
  const view = from_hash(location.hash);
  if (!view.devices.length) view.devices = usual_devices([...state.devices.values()]);
  if (view.source === 'name' && !view.network) view.network = first_network;
  state.view = view;
  refresh();
}

async function start(): Promise<void> {
  state.error = null;
  try {
    const [devices, networks, regions] = await Promise.all([fetch_devices(), fetch_networks(), fetch_regions()]);
    run_options.set_regions(regions);
    state.devices = new Map(devices.map((d) => [d.id, d]));
    network_picker.set_networks(networks);
    device_picker.set_devices(devices);
    first_network = (networks.find((n) => n.name === 'resnet50') ?? networks.find((n) => n.name === 'bert-base-uncased') ?? networks[0])?.name ?? '';
    open_link();
  } catch (error) {
    state.error = error as ApiError;
    render();
  }
}

document.querySelector('#app')!.append(
  h('a', { class: 'skip', href: '#results', onclick: (event: Event) => { event.preventDefault(); results.focus(); } }, 'Skip to the answer'),
  progress,
  h('header', { class: 'bar' }, h('img', { src: './favicon.svg', alt: '', width: 22, height: 22 }), h('b', {}, 'Forerun'), h('span', { class: 'tagline' }, 'how a network will run, before it runs'), h('nav', { 'aria-label': 'More' }, h('a', { href: 'openapi.json' }, 'API')), theme_button()),
  h('div', { class: 'layout' }, h('form', { class: 'panel', 'aria-label': 'Question', onsubmit: (event: Event) => { event.preventDefault(); void ask(); } }, network_picker.element, run_options.element, device_picker.element, h('div', { class: 'submit' }, submit)), h('div', { class: 'answers' }, tabs.bar, results, serving_tab.panel, devices_tab.panel)),
  spoken,
  toast,
  h('div', { class: 'drop-veil', 'aria-hidden': 'true' }, 'Drop to read'),
);
install_tooltip();
install_drop();
addEventListener('hashchange', open_link);
render();
void start();
