// A trace of arrivals as the server takes it: CSV with timestamp, input_tokens and output_tokens, in any order.

export type TraceRow = readonly [seconds: number, input_tokens: number, output_tokens: number];

/** Throws an Error that says what is wrong in the user's words. */
export function parse_trace(text: string): TraceRow[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const head = (lines[0] ?? '').split(',').map((name) => name.trim().replace(/^"|"$/g, ''));
  const places = ['timestamp', 'input_tokens', 'output_tokens'].map((name) => {
    const place = head.indexOf(name);
    if (place < 0) throw new Error(`The trace's first line has no ${name}: it names timestamp (seconds), input_tokens and output_tokens.`);
    return place;
  });
  if (lines.length < 2) throw new Error('The trace has no rows.');
  return lines.slice(1).map((line, index) => {
    const cells = line.split(',');
    const row = places.map((place) => Number(cells[place]));
    if (row.some((value) => !Number.isFinite(value))) throw new Error(`Row ${index + 1} of the trace is not three numbers.`);
    return [row[0]!, row[1]!, row[2]!] as const;
  });
}
