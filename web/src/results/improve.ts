// What to change: the ranked proposals of one device, each with its figure before and after, and a way to ask again with it.
import { request_body, type Estimate, type Upload } from '../api.ts';
import { h } from '../dom.ts';
import * as format from '../format.ts';
import type { View } from '../state.ts';

export interface Change {
  number: number;
  title?: string;
  parts?: string[];
  why?: string;
  settings: Record<string, string>;
  edits: string[];
  copies: number;
  risk: string;
  factor: number;
  factor_low: number;
  factor_high: number;
  after: Estimate;
}

export interface AdviseReport {
  device: string;
  goal: string;
  metric: string;
  unit: string;
  better: string;
  before: Estimate;
  proposals: Change[];
  together: Change[];
  rejected: { title: string; reason: string }[];
  estimated: number;
}

export interface ImproveState {
  report: AdviseReport | null;
  /** The question that the report answers. */
  key: string;
  running: boolean;
  error: string;
}

export interface ImproveEvents {
  on_run: () => void;
  on_apply: (patch: Partial<View>) => void;
}

const kRisks: Record<string, string> = {
  none: '',
  numerics: 'other rounding: check the accuracy',
  calibration: 'quantised: calibrate and check the accuracy',
  architecture: 'another network: train anew',
};

/** The change as fields of the page; null when the page has no control for one of its settings, or the network itself changes. */
export function patch_of(change: Change): Partial<View> | null {
  if (change.edits.length || change.copies > 1) return null;
  const patch: Partial<View> = {};
  for (const [name, value] of Object.entries(change.settings)) {
    if (name === 'batch' || name === 'concurrency') patch[name] = Number(value);
    else if (name === 'precision' || name === 'runtime' || name === 'optimizer') patch[name] = value;
    else if (name === 'device') patch.devices = [value];
    else return null;
  }
  return Object.keys(patch).length ? patch : null;
}

const cost_or_value = (value: number, unit: string): string => (unit === 'USD' ? format.dollars(value) : `${format.sig(value)} ${unit}`);

function row_of(report: AdviseReport, change: Change, events: ImproveEvents): HTMLElement {
  const longest = Math.max(report.before.value, change.after.value);
  const bar = (kind: string, value: number) => {
    const fill = h('i', { class: `fill ${kind}` });
    fill.style.width = `${(100 * value) / longest}%`;
    return h('span', { class: 'before-after' }, fill, h('small', {}, `${kind} ${cost_or_value(value, report.unit)}`));
  };
  const patch = patch_of(change);
  return h(
    'li',
    { class: 'proposal' },
    h('b', { title: `90 % interval ${format.sig(change.factor_low)} – ${format.sig(change.factor_high)}` }, `× ${format.sig(change.factor)}`),
    h('div', {}, h('strong', {}, change.title ?? (change.parts ?? []).join(' + ')), change.why ? h('p', {}, change.why) : null, kRisks[change.risk] ? h('p', { class: 'risk' }, kRisks[change.risk]!) : null, bar('before', report.before.value), bar('after', change.after.value)),
    patch ? h('button', { type: 'button', onclick: () => events.on_apply(patch) }, 'Ask again with it') : null,
  );
}

export async function fetch_advice(request: object, upload: Upload | null, signal: AbortSignal): Promise<AdviseReport> {
  const token = sessionStorage.getItem('forerun.token');
  const init = request_body(request, upload);
  const response = await fetch('v1/advise', { ...init, signal, headers: { ...(init.headers as object), ...(token && { Authorization: `Bearer ${token}` }) } });
  const body = (await response.json()) as AdviseReport & { detail?: string };
  if (!response.ok) throw new Error(body.detail ?? `The server answered ${response.status}`);
  return body;
}

export function render_improve(state: ImproveState, key: string, events: ImproveEvents): HTMLElement {
  const { report } = state;
  const button = h('button', { type: 'button', id: 'improve-run', disabled: state.running, onclick: events.on_run }, state.running ? 'Estimating changes …' : 'What should I change?');
  if (state.error && state.key === key) return h('div', {}, button, h('p', { class: 'empty', role: 'alert' }, state.error));
  if (!report || state.key !== key) return h('div', {}, button, h('p', { class: 'empty' }, 'Changes of the settings and of the network are estimated one by one and in combination; those that pay are listed.'));
  const list = (changes: readonly Change[]) => h('ol', { class: 'proposals' }, ...changes.map((change) => row_of(report, change, events)));
  return h(
    'div',
    {},
    button,
    h('p', { class: 'note' }, `${report.estimated} workloads estimated for ${report.goal} (${report.better} is better).`),
    report.proposals.length ? list(report.proposals) : h('p', { class: 'empty' }, 'No change pays by 2 % or more.'),
    report.together.length ? h('h3', {}, 'Together') : null,
    report.together.length ? list(report.together) : null,
    report.rejected.length ? h('details', {}, h('summary', {}, `${report.rejected.length} estimated and not proposed`), h('ul', {}, ...report.rejected.map((r) => h('li', {}, `${r.title}: ${r.reason}`)))) : null,
  );
}
