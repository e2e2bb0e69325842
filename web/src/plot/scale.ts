// Scales map data to pixels and choose round ticks.

export interface Scale {
  (value: number): number;
  domain: readonly [number, number];
  ticks: number[];
  /** Unlabelled ticks between the labelled ones. */
  minor: number[];
}

type Pair = readonly [number, number];

/** A round step (1, 2 or 5 times a power of ten) that cuts `span` into about `parts`. */
export function nice_step(span: number, parts: number): number {
  const raw = span / Math.max(1, parts);
  const power = 10 ** Math.floor(Math.log10(raw));
  const unit = raw / power;
  return (unit < 1.5 ? 1 : unit < 3.5 ? 2 : unit < 7.5 ? 5 : 10) * power;
}

export function linear(domain: Pair, range: Pair, parts = 5): Scale {
  const low = domain[0];
  let high = domain[1];
  if (!(high > low)) high = low + (Math.abs(low) || 1);
  const step = nice_step(high - low, parts);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(12)));
  const slope = (range[1] - range[0]) / (high - low);
  return Object.assign((value: number) => range[0] + (value - low) * slope, {
    domain: [low, high] as const,
    ticks,
    minor: [] as number[],
  });
}

/** REQUIRES: both ends of the domain are positive. */
export function log(domain: Pair, range: Pair, parts = 6): Scale {
  const low = domain[0];
  const high = domain[1] > low ? domain[1] : low * 10;
  const from = Math.log10(low);
  const slope = (range[1] - range[0]) / (Math.log10(high) - from);
  const decades: number[] = [];
  const minor: number[] = [];
  for (let e = Math.floor(from); e <= Math.ceil(Math.log10(high)); e++) {
    for (let m = 1; m < 10; m++) {
      const tick = Number(`${m}e${e}`);
      if (tick < low * 0.9999 || tick > high * 1.0001) continue;
      (m === 1 ? decades : minor).push(tick);
    }
  }
  const every = Math.max(1, Math.ceil(decades.length / parts));
  let ticks = decades.filter((_, index) => index % every === 0);
  if (decades.length < 3) {
    const wanted = decades.length < 2 ? [1, 2, 3, 5, 7] : [1, 2, 5];
    ticks = [...decades, ...minor].filter((tick) => wanted.includes(leading_digit(tick))).sort((a, b) => a - b);
  }
  return Object.assign((value: number) => range[0] + (Math.log10(value) - from) * slope, {
    domain: [low, high] as const,
    ticks,
    minor,
  });
}

const leading_digit = (value: number): number => Number(value.toExponential()[0]);

/** The smallest and largest of the finite values; null when there is none. */
export function extent(values: Iterable<number | undefined>): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === undefined || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

/** A log domain with room around the points. REQUIRES: pair is positive. */
export function log_padded(pair: Pair, share = 0.08): [number, number] {
  const span = Math.max(Math.log10(pair[1] / pair[0]), 0.3);
  const factor = 10 ** (span * share);
  return [pair[0] / factor, pair[1] * factor];
}

export const round_up = (value: number): number => {
  const step = nice_step(value, 5);
  return Math.ceil(value / step - 1e-9) * step;
};
