// The answer as CSV: one line per device, every estimate with its interval and basis.
import { kColumns, type Row } from './columns.ts';

const field = (value: unknown): string => {
  const text = value === undefined || value === null ? '' : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
};

const unit_suffix: Record<string, string> = {
  latency: '_ms', ttft: '_ms', tpot: '_ms', throughput: '_per_s', tokens: '_per_s', memory: '_mb', request: '_ms', token_energy: '_j', energy: '_j', power: '_w',
  total_time: '_s', total_energy: '_j', cost: '_usd', carbon: '_g',
};

export function to_csv(rows: readonly Row[]): string {
  const columns = kColumns.filter((column) => rows.some((row) => column.estimate(row)));
  const head = [
    'device',
    ...columns.flatMap(({ key }) => {
      const name = key + (unit_suffix[key] ?? '');
      return [name, `${name}_low`, `${name}_high`, `${key}_basis`];
    }),
    'fits', 'mig_profile', 'mig_instances', 'usd_per_hour', 'usd_per_million', 'co2_g_per_million', 'region', 'warnings',
  ];
  const lines = rows.map((row) => {
    const advice = row.result.advice ?? {};
    return [
      row.result.device,
      ...columns.flatMap((column) => {
        const estimate = column.estimate(row);
        return [estimate?.value, estimate?.low, estimate?.high, estimate?.basis];
      }),
      advice.fits, advice.mig?.profile, advice.mig?.instances, advice.usd_per_hour, advice.usd_per_million,
      advice.co2_g_per_million, advice.region, (row.result.warnings ?? []).join('; '),
    ].map(field).join(',');
  });
  return [head.join(','), ...lines].join('\n') + '\n';
}
