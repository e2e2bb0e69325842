import { describe, expect, it } from 'vitest';
import { request_body, upload_of } from './api.ts';
import { cli_command, inspect_request, predict_request } from './request.ts';
import { from_hash, kDefaults, kLongestLink, parse_dims, parse_inputs, to_hash, type View } from './state.ts';

const view = (change: Partial<View>): View => ({ ...kDefaults, dims: {}, inputs: {}, devices: ['h200-sxm', 'l4'], network: 'resnet50', ...change });

describe('the link', () => {
  it('reproduces every part of the view', () => {
    const full = view({ batch: 32, seq: 512, input_tokens: 900, output_tokens: 100, concurrency: 4, dims: { height: 224, 'a.b': 3 }, inputs: { 'x.1': '?x3x224x224', ids: '1' }, precision: 'bf16', runtime: 'eager', host_speed: 0.5, train: true, optimizer: 'adamw', samples: 5000, region: 'DEU', focus: 'l4', sort: 'energy', descending: true, kernels_by: 'operator', price_axis: 'usd_per_hour', sweep_metric: 'memory', phase: 'decode' });
    expect(from_hash(to_hash(full))).toEqual(full);
  });
  it('carries a pasted config', () => {
    const pasted = view({ source: 'config', network: '', config: '{\n  "hidden_size": 768,\n  "name": "a&b=c#é"\n}' });
    expect(from_hash(to_hash(pasted))).toEqual(pasted);
  });
  it('leaves out a config too long for a link', () => {
    const pasted = view({ source: 'config', config: JSON.stringify({ text: 'x'.repeat(kLongestLink) }) });
    expect(to_hash(pasted).length).toBeLessThan(kLongestLink);
  });
  it('says that a file was used, but does not carry it', () => expect(from_hash(to_hash(view({ source: 'file' }))).source).toBe('file'));
  it('takes defaults for what is malformed', () => {
    const odd = from_hash('#batch=-3&seq=x&dims=%%%&samples=1e99&source=evil&devices=,,l4,l4');
    expect(odd).toMatchObject({ batch: kDefaults.batch, seq: null, dims: {}, samples: kDefaults.samples, source: 'name', devices: ['l4'] });
  });
});

describe('dimensions', () => {
  it('reads names and sizes', () => expect(parse_dims('height=224, width = 32\n')).toEqual({ height: 224, width: 32 }));
  it('refuses anything else', () => expect(['height', 'height=0', 'h=-1', '=3', 'h=1e3'].map(parse_dims)).toEqual([null, null, null, null, null]));
});

describe('shapes of inputs', () => {
  it('reads names and shapes', () => expect(parse_inputs('image=1x3x224x224, ids = ?x128\n')).toEqual({ image: '1x3x224x224', ids: '?x128' }));
  it('refuses anything else', () => expect(['x', 'x=', 'x=0', 'x=1x', 'x=axb', '=1', 'x=1 2'].map(parse_inputs)).toEqual(Array(7).fill(null)));
});

describe('an upload', () => {
  const files = ['model.json', 'group1-shard1of1.bin'].map((name) => new File(['12345'], name));
  it('is one file or several', () => {
    expect(upload_of([])).toBeNull();
    expect(upload_of(files)).toMatchObject({ name: 'model.json and 1 more', size: 10 });
  });
  it('sends every file under its name', () => {
    const { body } = request_body({ batch: 1 }, upload_of(files));
    expect((body as FormData).getAll('model').map((file) => (file as File).name)).toEqual(['model.json', 'group1-shard1of1.bin']);
  });
});

describe('the request', () => {
  it('names shapes of inputs where they are given', () => {
    expect(predict_request(view({ inputs: { x: '1x3' } }))).toMatchObject({ input: { x: '1x3' } });
    expect(inspect_request(view({ inputs: { x: '1x3' } }))).toMatchObject({ input: { x: '1x3' } });
    expect(cli_command(view({ inputs: { x: '1x3' } }), null)).toContain('--input x=1x3');
  });
  it('names the network and leaves out what is not set', () => {
    expect(predict_request(view({}))).toEqual({ model: 'resnet50', device: 'h200-sxm,l4', batch: 8, precision: 'fp16', runtime: 'graph', phase: 'forward' });
  });
  it('states the host of eager passes alone', () => {
    expect(predict_request(view({ runtime: 'eager', host_speed: 2 }))).toMatchObject({ host_speed: 2 });
    expect(predict_request(view({ runtime: 'graph', host_speed: 2 }))).not.toHaveProperty('host_speed');
    expect(cli_command(view({ train: true, host_speed: 2 }), null)).toContain('--host-speed 2');
  });
  it('asks for a training step without a phase', () => {
    const request = predict_request(view({ train: true, optimizer: 'sgd', phase: 'decode' }));
    expect(request).toMatchObject({ train: true, optimizer: 'sgd' });
    expect(request).not.toHaveProperty('phase');
  });
  it('asks about serving only what is given', () => {
    expect(predict_request(view({ input_tokens: 900, concurrency: 4 }))).toMatchObject({ input_tokens: 900, concurrency: 4 });
    expect(predict_request(view({ input_tokens: 900, train: true }))).not.toHaveProperty('input_tokens');
  });
  it('has no network of its own when a file goes with it', () => expect(predict_request(view({ source: 'file' }))).not.toHaveProperty('model'));
  it('inspects what it predicts', () => expect(inspect_request(view({ seq: 9 }))).toEqual({ model: 'resnet50', batch: 8, seq: 9, precision: 'fp16', phase: 'forward' }));
});

describe('the command line', () => {
  it('asks the same question', () => {
    expect(cli_command(view({ seq: 128, dims: { h: 2 }, phase: 'decode', region: 'FRA' }), null)).toBe('forerun predict resnet50 --device h200-sxm,l4 --dim h=2 --precision fp16 --batch 8 --seq 128 --runtime graph --phase decode --region FRA');
  });
  it('quotes odd file names', () => {
    expect(cli_command(view({ source: 'file' }), `my model's; rm.onnx`)).toContain(`'my model'\\''s; rm.onnx'`);
  });
});
