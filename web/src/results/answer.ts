// The answer in one sentence, before any table: the server's verdict where it gives one, else made of the rows that hold.
import { h } from '../dom.ts';
import * as format from '../format.ts';
import type { View } from '../state.ts';
import { device_name, is_serving_row, sort_rows, type Row } from './columns.ts';
import { judge, limits_set } from './limits.ts';

const range = (low: number, high: number, unit: string): string => `${format.sig(low)} – ${format.sig(high)} ${unit}`;

function one_device(row: Row, is_serving: boolean): string {
  const { estimates, advice, serving } = row.result;
  const name = device_name(row);
  const price = advice?.usd_per_million === undefined ? '' : `, ${format.dollars(advice.usd_per_million)} for a million ${is_serving ? 'tokens' : 'samples'}`;
  const fits = advice?.fits === false ? ' It does not fit into its memory.' : '';
  if (is_serving) {
    if (serving?.saturated) return `${name} is saturated by this load: requests come faster than it serves them.${fits}`;
    const { ttft_ms, tpot_ms, tokens_per_s } = estimates;
    return `${name} gives the first token after ${format.sig(ttft_ms?.value)} ms and ${format.sig(tokens_per_s?.value)} tokens a second, one every ${format.sig(tpot_ms?.value)} ms${price}.${fits}`;
  }
  const { latency_ms } = estimates;
  if (!latency_ms) return `${name} cannot be answered for: the warnings say why.`;
  return `${name} takes ${format.sig(latency_ms.value)} ms (${range(latency_ms.low, latency_ms.high, 'ms')} in nine of ten cases)${price}.${fits}`;
}

/** How the limits are named: "with latency at most 33 ms". */
function limit_words(view: View, is_serving: boolean): string {
  const words = limits_set(view, is_serving).map((limit) => `${limit.label.toLowerCase()} ${format.sig(view[limit.field]!)} ${limit.unit}`);
  return words.length ? ` (${words.join(', ')})` : '';
}

export function answer_text(rows: readonly Row[], view: View, verdict: string | undefined): string {
  if (!rows.length) return '';
  const is_serving = rows.some(is_serving_row);
  if (rows.length === 1) return one_device(rows[0]!, is_serving);
  const holding = rows.filter((row) => judge(row, view, is_serving).standing !== 'misses');
  if (!holding.length) return `None of the ${rows.length} devices holds this${limit_words(view, is_serving)}: the table says why for each.`;
  if (verdict) return verdict;
  const fastest = sort_rows(holding, is_serving ? 'ttft' : 'latency', false)[0]!;
  const cheapest = sort_rows(holding, is_serving ? 'token_cost' : 'cost', false)[0]!;
  const price = cheapest.result.advice?.usd_per_million;
  const speed = is_serving ? fastest.result.estimates.ttft_ms : fastest.result.estimates.latency_ms;
  const first = price === undefined ? '' : `Cheapest that holds: ${device_name(cheapest)} at ${format.dollars(price)} for a million ${is_serving ? 'tokens' : 'samples'}. `;
  const second = speed ? `${is_serving ? 'Quickest first token' : 'Fastest'}: ${device_name(fastest)} with ${format.sig(speed.value)} ms. ` : '';
  const unsure = holding.filter((row) => judge(row, view, is_serving).standing === 'unsure').length;
  if (holding.length === rows.length && !limits_set(view, is_serving).length) return first + second;
  const count = `${holding.length} of ${rows.length} hold${limit_words(view, is_serving)}`;
  return `${first}${second}${count}${unsure ? `, ${unsure} of them only if their intervals are kind` : ''}.`;
}

export const render_answer = (text: string): HTMLElement => h('p', { class: 'answer', id: 'answer' }, text);
