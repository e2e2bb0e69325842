import { expect, test } from 'vitest';
import { parts_of, times_of } from './devices_tab.ts';
import { parse_trace } from './trace.ts';

test('a trace has its columns in any order', () => {
  expect(parse_trace('output_tokens,timestamp,input_tokens\n20,0.5,100\n\n30,1,200\r\n')).toEqual([[0.5, 100, 20], [1, 200, 30]]);
});

test('a trace that is none is refused with what it lacks', () => {
  expect(() => parse_trace('time,input_tokens,output_tokens\n1,2,3')).toThrow(/timestamp/);
  expect(() => parse_trace('timestamp,input_tokens,output_tokens')).toThrow(/no rows/);
  expect(() => parse_trace('timestamp,input_tokens,output_tokens\n1,x,3')).toThrow(/Row 1/);
});

test('parts that are nothing are not drawn', () => {
  expect(parts_of({ weights: 10, gradients: 0, other: 2 }).map((part) => part.label)).toEqual(['Weights', 'Other']);
  const step = { compute_ms: 5, communication_ms: 1, bubble_ms: 0, update_ms: 1, input_ms: 0 } as Parameters<typeof times_of>[0];
  expect(times_of(step).map((part) => part.label)).toEqual(['Compute', 'Communication', 'Update']);
});
