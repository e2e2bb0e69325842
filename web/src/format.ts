// Numbers as people read them: three significant digits, units that fit the size.

const kNone = '–';

export const whole = (value: number): string => Math.round(value).toLocaleString('en-GB');

/** Three significant digits without exponent: 0.0412, 4.12, 41.2, 4,120. */
export function sig(value: number | undefined | null, digits = 3): string {
  if (value === undefined || value === null || !Number.isFinite(value)) return kNone;
  if (value === 0) return '0';
  const rounded = Number(value.toPrecision(digits));
  const magnitude = Math.floor(Math.log10(Math.abs(rounded)) + 1e-12);
  if (magnitude < -5) return value.toExponential(digits - 1);
  const decimals = Math.max(0, digits - 1 - magnitude);
  return rounded.toLocaleString('en-GB', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function scaled(value: number, units: readonly (readonly [number, string])[]): string {
  if (!Number.isFinite(value)) return kNone;
  for (const [size, unit] of units) if (Math.abs(value) >= size * 0.9995) return `${sig(value / size)} ${unit}`;
  const [size, unit] = units[units.length - 1]!;
  return `${sig(value / size)} ${unit}`;
}

/** 25.6 M, 4.09 G: counts of parameters or operations. */
export const count = (value: number): string =>
  scaled(value, [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']]).trim();

/** Binary bytes under the names the reports use (MB = 2^20). */
export const bytes = (value: number): string =>
  scaled(value, [[2 ** 40, 'TB'], [2 ** 30, 'GB'], [2 ** 20, 'MB'], [2 ** 10, 'kB'], [1, 'B']]);

export const megabytes = (value: number): string => bytes(value * 2 ** 20);

export const milliseconds = (value: number): string => seconds(value / 1e3);

export const seconds = (value: number): string =>
  value < 120
    ? scaled(value, [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']])
    : scaled(value, [[86400 * 3, 'days'], [5400, 'h'], [60, 'min']]);

export const joules = (value: number): string => scaled(value, [[1e6, 'MJ'], [1e3, 'kJ'], [1, 'J'], [1e-3, 'mJ']]);

/** Joules as the meter counts them, for whole jobs. */
export const watt_hours = (value: number): string =>
  scaled(value / 3600, [[1e6, 'MWh'], [1e3, 'kWh'], [1, 'Wh'], [1e-3, 'mWh']]);

export const grams = (value: number): string => scaled(value, [[1e6, 't'], [1e3, 'kg'], [1, 'g'], [1e-3, 'mg']]);

export const flops_rate = (value: number): string =>
  scaled(value, [[1e15, 'PFLOP/s'], [1e12, 'TFLOP/s'], [1e9, 'GFLOP/s'], [1e6, 'MFLOP/s'], [1, 'FLOP/s']]);

export function dollars(value: number): string {
  if (!Number.isFinite(value)) return kNone;
  if (value !== 0 && Math.abs(value) < 0.005) return `$${sig(value, 2)}`;
  const decimals = Math.abs(value) < 1000 ? 2 : 0;
  return `$${value.toLocaleString('en-GB', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}`;
}

export const percent = (share: number): string =>
  !Number.isFinite(share) ? kNone : share > 0 && share < 0.001 ? '<0.1 %' : `${sig(share * 100, share < 0.1 ? 2 : 3)} %`;

export const file_size = (value: number): string => bytes(value);

/** "1", "1000", "1e6", "10k", "2 M" → a whole number of at least 1; null when it is none of these. */
export function parse_count(text: string): number | null {
  const match = /^\s*([0-9][0-9.,_ ]*(?:e[0-9]+)?)\s*([kmgb]?)\s*$/i.exec(text);
  if (!match) return null;
  const base = Number(match[1]!.replace(/[,_ ]/g, ''));
  const factor = { '': 1, k: 1e3, m: 1e6, g: 1e9, b: 1e9 }[match[2]!.toLowerCase()] ?? 1;
  const value = Math.round(base * factor);
  return Number.isSafeInteger(value) && value >= 1 ? value : null;
}
