// The page's one loop: form → view → hash → request → results.
import { ApiError, fetch_devices, fetch_networks, fetch_regions, inspect, list_nodes, predict, save_token, upload_of, type Device, type Network, type Upload } from './api.ts';
import { h } from './dom.ts';
import { DevicePicker, usual_devices } from './form/device_picker.ts';
import { LimitSliders } from './form/limit_sliders.ts';
import { own_device, OwnDevice } from './form/own_device.ts';
import { config_problem, NetworkPicker } from './form/network_picker.ts';
import { RunOptions } from './form/run_options.ts';
import { install_tooltip, hide_tooltip } from './plot/tooltip.ts';
import { inspect_request, predict_request } from './request.ts';
import { answer_text } from './results/answer.ts';
import { columns_of, columns_that_fit } from './results/columns.ts';
import { kNoGraph } from './results/graph.ts';
import { fetch_advice } from './results/improve.ts';
import { focus_of, render_results, rows_of, type ResultsEvents, type ResultsState } from './results/results.ts';
import { kSweepBatches } from './results/sweep.ts';
import { from_hash, is_serving_view, kDefaults, kUsualLoad, to_hash, type Source, type View } from './state.ts';
import { DevicesTab } from './tabs/devices_tab.ts';
import { ServingTab } from './tabs/serving_tab.ts';
import { Tabs } from './tabs/tabs.ts';
import { theme_button } from './theme.ts';
import './styles/base.css';
import './styles/form.css';
import './styles/results.css';
import './styles/plots.css';
import './styles/tabs.css';
import './styles/improve.css';

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
  graph: kNoGraph,
  width: Infinity,
  all_columns: false,
  improve: { report: null, key: '', running: false, error: '' },
  improve_key: '',
};
let networks: readonly Network[] = [];
let answered_key = '';
let running = new AbortController();
let timer = 0;
let first_network = '';

const results = h('div', { id: 'results', role: 'tabpanel', 'aria-labelledby': 'tab-pass', tabindex: -1 });
const progress = h('div', { class: 'progress', hidden: true, 'aria-hidden': 'true' });
const spoken = h('div', { class: 'sr-only', role: 'status', 'aria-live': 'polite' });
const toast = h('div', { class: 'toast', role: 'status', hidden: true });
const submit = h('button', { type: 'submit', class: 'primary', id: 'predict' }, 'Predict');

const network_picker = new NetworkPicker({
  on_source: (source: Source) => patch({ source }),
  on_name: (network) => patch({ network, source: 'name', ...usual_question(network) }),
  on_config: (config) => patch({ config }),
  on_upload: use_upload,
});
const run_options = new RunOptions(patch);
const serving_tab = new ServingTab();
const devices_tab = new DevicesTab();
const tabs = new Tabs(
  [{ id: 'pass', label: 'Compare' }, { id: 'serving', label: 'Serving', panel: serving_tab.panel }, { id: 'devices', label: 'Several devices', panel: devices_tab.panel }],
  results, (tab) => patch({ tab }));
const device_picker = new DevicePicker((devices) => patch({ devices }));
const limit_sliders = new LimitSliders(patch);
const own = new OwnDevice(patch, () => state.view);

/** Language models are served, other networks are run: the question changes where the kind of network does. */
function usual_question(name: string): Partial<View> {
  const is_causal = networks.find((n) => n.name === name)?.task === 'causal';
  if (is_causal === is_serving_view(state.view) || state.view.train) return {};
  return is_causal ? kUsualLoad : { input_tokens: null, output_tokens: null, concurrency: null, precision: kDefaults.precision };
}

/** On a narrow screen the question is folded, so that the answer comes first. */
const question = h('button', { type: 'button', id: 'question', 'aria-expanded': 'false', 'aria-controls': 'form', onclick: () => fold_question(form.classList.contains('open')) });
function fold_question(is_folded: boolean): void {
  form.classList.toggle('open', !is_folded);
  question.setAttribute('aria-expanded', String(!is_folded));
}
function sync_question(): void {
  const { view, upload } = state;
  const network = view.source === 'name' ? view.network : view.source === 'file' ? (upload?.name ?? 'a file') : 'a config';
  const run = view.train ? 'training' : is_serving_view(view) ? `${view.concurrency ?? 1} in flight` : `batch ${view.batch}`;
  question.replaceChildren(h('b', {}, network), ` ${[run, view.precision, `${view.devices.length} devices`].filter(Boolean).join(' · ')} `, h('span', { class: 'change' }, 'Change'));
}

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
  const problem = run_options.problem();
  return problem && `${problem} Shown is the last answer.`;
}

function refresh(): void {
  network_picker.sync(state.view, state.upload);
  run_options.sync(state.view);
  device_picker.sync(state.view);
  const name_of = (id: string) => state.devices.get(id)?.name ?? id;
  serving_tab.sync(state.view, state.upload, name_of);
  devices_tab.sync(state.view, state.upload, name_of, (id) => state.devices.get(id)?.memory_gib);
  tabs.open(state.view.tab);
  limit_sliders.sync(state.view);
  own.sync(state.view);
  sync_question();
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
    const mine = own_device(view);
    if (mine) state.devices = new Map([...state.devices, [mine.id, mine]]);
    const is_same_graph = graph_key === key_of_graph();
    Object.assign(state, { report, network, error: null, waiting: '', sweep: { points: [], running: false, error: '' }, ...(!is_same_graph && { graph: kNoGraph }) });
    graph_key = key_of_graph();
    announce();
  } catch (error) {
    if (control.signal.aborted) return;
    answered_key = '';
    state.error = error instanceof ApiError ? error : new ApiError(String(error), 0, 'No answer');
  }
  set_busy(false);
  render();
  if (state.error && upload) show_refusal();
  // Quick to answer: drawn without being asked for. A file would have to be sent again for every batch size.
  if (!state.error && !upload && view.devices.length <= kAutoSweepDevices) {
    setTimeout(() => control === running && request_key() === key && void run_sweep(true), kAutoSweepDelayMs);
  }
}

function announce(): void {
  spoken.textContent = answer_text(rows_of(state), state.view, state.report?.verdict?.text);
}

/** A file that was refused: on a small screen the reason would be out of sight. */
function show_refusal(): void {
  fold_question(true);
  const box = document.querySelector<HTMLElement>('#error');
  box?.scrollIntoView({ block: 'center' });
  box?.focus({ preventScroll: true });
}

let graph_key = '';
const key_of_graph = (): string => {
  try {
    return JSON.stringify([state.upload?.name, state.view.source === 'config' && state.view.config, inspect_request(state.view)]);
  } catch {
    return '';
  }
};

async function load_graph(): Promise<void> {
  state.graph = { ...kNoGraph, loading: true };
  render_card('graph');
  try {
    const nodes = await list_nodes(inspect_request(state.view), state.view.source === 'file' ? state.upload : null, running.signal);
    state.graph = { ...kNoGraph, nodes };
  } catch (error) {
    state.graph = { ...kNoGraph, error: (error as Error).message };
  }
  render_card('graph');
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

/** The question about the device in focus alone: proposals are for one device. */
function improve_request(): object | null {
  const focus = focus_of(rows_of(state), state.view);
  return focus && request_key() ? predict_request({ ...state.view, devices: [focus.result.device] }) : null;
}

async function improve(): Promise<void> {
  const request = improve_request();
  const { upload, view } = state;
  if (!request || state.improve.running) return;
  const key = JSON.stringify(request);
  state.improve = { report: null, key, running: true, error: '' };
  render_card('improve');
  try {
    const report = await fetch_advice(request, view.source === 'file' ? upload : null, running.signal);
    state.improve = { report, key, running: false, error: '' };
  } catch (error) {
    state.improve = { report: null, key, running: false, error: running.signal.aborted ? '' : (error as Error).message };
  }
  render_card('improve');
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
  load_graph: () => void load_graph(),
  set_graph: (change) => {
    state.graph = { ...state.graph, ...change };
    render_card('graph');
  },
  all_columns: () => {
    state.all_columns = true;
    render();
  },
  improve: { on_run: () => void improve(), on_apply: patch },
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
  state.width = results.clientWidth || Infinity;
  const scroll = results.querySelector('.table-scroll')?.scrollLeft ?? 0;
  hide_tooltip();
  state.improve_key = JSON.stringify(improve_request());
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
  const focused = document.activeElement;
  const caret = focused instanceof HTMLInputElement && focused.type === 'search' ? focused.selectionStart : null;
  const scroll = results.querySelector(`#${id} .graph-scroll`)?.scrollTop ?? 0;
  if (fresh) results.querySelector(`#${id}`)?.replaceWith(fresh);
  results.querySelector(`#${id} .graph-scroll`)?.scrollTo(0, scroll);
  if (!focused?.id || document.activeElement?.id === focused.id) return;
  const again = results.querySelector<HTMLElement>(`#${focused.id}`);
  again?.focus({ preventScroll: true });
  if (caret !== null && again instanceof HTMLInputElement) again.setSelectionRange(caret, caret);
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
  const is_bare = !location.hash.includes('precision') && !location.hash.includes('batch');
  if (is_bare && view.source === 'name') state.view = { ...view, ...usual_question(view.network) };
  refresh();
}

async function start(): Promise<void> {
  state.error = null;
  try {
    const [devices, known_networks, regions] = await Promise.all([fetch_devices(), fetch_networks(), fetch_regions()]);
    run_options.set_regions(regions);
    state.devices = new Map(devices.map((d) => [d.id, d]));
    networks = known_networks;
    network_picker.set_networks(networks);
    device_picker.set_devices(devices);
    first_network = (networks.find((n) => n.name === 'resnet50') ?? networks.find((n) => n.name === 'bert-base-uncased') ?? networks[0])?.name ?? '';
    open_link();
  } catch (error) {
    state.error = error as ApiError;
    render();
  }
}

const form = h('form', { class: 'panel', id: 'form', 'aria-label': 'Question', onsubmit: (event: Event) => { event.preventDefault(); fold_question(true); void ask(); } },
  network_picker.element, run_options.element, limit_sliders.element, device_picker.element, own.element, h('div', { class: 'submit' }, submit));
form.addEventListener('problem', refresh);

document.querySelector('#app')!.append(
  h('a', { class: 'skip', href: '#results', onclick: (event: Event) => { event.preventDefault(); results.focus(); } }, 'Skip to the answer'),
  progress,
  h('header', { class: 'bar' }, h('img', { src: './favicon.svg', alt: '', width: 22, height: 22 }), h('b', {}, 'Forerun'), h('span', { class: 'tagline' }, 'how a network will run, before it runs'), h('nav', { 'aria-label': 'More' }, h('a', { href: 'docs' }, 'Docs'), h('a', { href: 'docs#accuracy' }, 'Accuracy'), h('a', { href: 'docs#api' }, 'API')), theme_button()),
  h('div', { class: 'layout' }, h('div', { class: 'side' }, question, form), h('main', { class: 'answers', 'aria-label': 'Answer' }, tabs.bar, results, serving_tab.panel, devices_tab.panel)),
  spoken,
  toast,
  h('div', { class: 'drop-veil', 'aria-hidden': 'true' }, 'Drop to read'),
);
install_tooltip();
install_drop();
addEventListener('hashchange', open_link);
// Another width has room for other columns.
addEventListener('resize', () => {
  const columns = columns_of(rows_of(state));
  if (columns_that_fit(columns, 2, results.clientWidth).length !== columns_that_fit(columns, 2, state.width).length) render();
});
render();
void start();
