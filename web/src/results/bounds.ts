// What bounds a kernel: one order, one word and one colour (styles/plots.css) for each, everywhere on the page.
export const kBounds = ['compute', 'memory', 'l2', 'waves', 'launch', 'host', 'communication', 'learned'] as const;
export type BoundName = (typeof kBounds)[number];

const kLabels: Record<BoundName, string> = {
  compute: 'compute bound',
  memory: 'memory bound',
  l2: 'L2 bound',
  waves: 'bound by idle multiprocessors of the last wave',
  launch: 'launch bound',
  host: 'waits for the host',
  communication: 'communication',
  learned: 'learned correction',
};

export const bound_label = (bound: string): string => kLabels[bound as BoundName] ?? bound;

/** Those of the list that occur, in the one order; words that are not known come last. */
export function bounds_in(found: Iterable<string>): string[] {
  const rank = (bound: string) => (kBounds.indexOf(bound as BoundName) + kBounds.length + 1) % (kBounds.length + 1);
  return [...new Set(found)].sort((a, b) => rank(a) - rank(b));
}
