// The page end to end: choose, ask, read, hover, share; at desktop and phone width, without one console error.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { kDesktop, kPhone, open_page, open_question, root, shot, start_browser, start_server, wait_for_answer } from './harness.mjs';

const model = [process.env.FORERUN_E2E_MODEL, path.join(root, 'tests/fixtures/onnx/resnet50.onnx')].find((file) => file && existsSync(file));
/** A second on an idle machine; other jobs may take the processors away for longer. */
const kPatienceMs = 10_000;
let server;
let browser;
before(async () => {
  server = await start_server();
  browser = await start_browser();
});
after(async () => {
  await browser?.close();
  assert.equal(await server?.stop(), 0);
});

const devices = (page) => page.locator('table.devices tbody tr').evaluateAll((rows) => rows.map((row) => row.dataset.device));
const cells = (page, column) => page.locator(`table.devices tbody tr td:nth-child(${column}) .value`).allInnerTexts();

for (const [name, viewport] of [['desktop', kDesktop], ['phone', kPhone]]) {
  test(`${name}: the first load is small, quick and complete`, async (t) => {
    const started = performance.now();
    const { page, context, complaints, loaded } = await open_page(browser, server.url, { viewport });
    await page.waitForSelector('table.devices tbody tr');
    const ready_ms = performance.now() - started;
    const files = loaded.filter((response) => !new URL(response.url()).pathname.startsWith('/v1/'));
    let bytes = 0;
    for (const response of files) bytes += (await response.body()).length;
    assert.ok(bytes < 300_000, `${bytes} bytes`);
    t.diagnostic(`${Math.round(ready_ms)} ms until the first table`);
    assert.ok(ready_ms < kPatienceMs, `${ready_ms} ms until the first table (one second on an idle machine)`);
    assert.ok((await devices(page)).length >= 4);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'the page itself must not scroll sideways');
    await shot(page, `${name}-start`);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test(`${name}: upload a model, pick devices, read the table, hover the roofline`, async () => {
    assert.ok(model, 'needs tests/fixtures/onnx/resnet50.onnx');
    const { page, context, complaints } = await open_page(browser, server.url, { viewport });
    await wait_for_answer(page);
    await open_question(page);
    await page.locator('.segments label', { hasText: 'File' }).click();
    await page.setInputFiles('#model-file', model);
    await page.getByRole('button', { name: 'None' }).click();
    for (const id of ['h200-sxm', 'a100-sxm-40gb', 't4']) {
      await page.fill('#device-search', id);
      await page.locator(`.device-list input[value="${id}"]`).check();
    }
    await wait_for_answer(page);
    assert.deepEqual((await devices(page)).sort(), ['a100-sxm-40gb', 'h200-sxm', 't4']);
    assert.match(await page.locator('.summary').innerText(), /batch 8/);

    const latency = (await cells(page, 3)).map((text) => Number(text.replace(/,/g, '')));
    assert.deepEqual(latency, [...latency].sort((a, b) => a - b));
    assert.ok(latency.every((value) => value > 0));
    await page.locator('th button', { hasText: 'Device' }).click();
    assert.equal(await page.locator('th[aria-sort="ascending"]').innerText().then((text) => text.includes('Device')), true);

    const dot = page.locator('#roofline .dot').last();
    await dot.scrollIntoViewIfNeeded();
    await dot.hover();
    const tip = await page.locator('.tooltip').innerText();
    assert.match(tip, /FLOP/);
    await shot(page, `${name}-upload-roofline`, false);
    assert.ok((await page.locator('#breakdown .bar-row').count()) > 3);

    await page.locator('#run-sweep').click();
    await page.waitForFunction(() => document.querySelector('#run-sweep')?.textContent === 'Run again');
    assert.ok((await page.locator('#sweep .line').count()) === 3);
    await shot(page, `${name}-upload`);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test(`${name}: a shared link shows the same view`, async () => {
    const first = await open_page(browser, server.url, { viewport, scheme: 'dark', hash: '#network=resnet50&batch=32&precision=fp16&runtime=graph&devices=h100-sxm,l4&samples=5000&region=FRA&sort=energy' });
    await wait_for_answer(first.page);
    await first.page.getByRole('button', { name: 'Link' }).click();
    const link = await first.page.evaluate(() => navigator.clipboard.readText());
    const second = await open_page(browser, server.url, { viewport, scheme: 'dark', hash: link.slice(link.indexOf('#')) });
    await wait_for_answer(second.page);
    assert.equal(await second.page.locator('table.devices').innerText(), await first.page.locator('table.devices').innerText());
    assert.equal(await second.page.inputValue('#batch'), '32');
    assert.equal(await second.page.inputValue('#region'), 'FRA');
    await shot(second.page, `${name}-link-dark`);
    assert.deepEqual([...first.complaints, ...second.complaints], []);
    await first.context.close();
    await second.context.close();
  });
}

test('a file dropped anywhere is read', async () => {
  const { page, context, complaints } = await open_page(browser, server.url, { hash: '#devices=h200-sxm,t4' });
  await wait_for_answer(page);
  const bytes = readFileSync(model).toString('base64');
  await page.evaluate((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], 'dropped.onnx'));
    for (const type of ['dragenter', 'dragover', 'drop']) {
      document.querySelector('main').dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: transfer }));
    }
  }, bytes);
  await page.waitForFunction(() => document.querySelector('.file-name')?.textContent?.includes('dropped.onnx'));
  await wait_for_answer(page);
  assert.equal(await page.evaluate(() => document.body.classList.contains('dropping')), false);
  assert.match(await page.locator('.summary').innerText(), /25\.6 M parameters/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('totals follow the number of samples', async () => {
  const { page, context, complaints } = await open_page(browser, server.url, { hash: '#network=resnet50&devices=h200-sxm&batch=8' });
  await wait_for_answer(page);
  const group = page.locator('table.devices .groups th').last();
  assert.match(await group.innerText(), /1,000,000 samples/);
  const before = await page.locator('table.devices tbody').innerText();
  await page.fill('#samples', '5000');
  await page.waitForFunction(() => /5,000 samples/.test(document.querySelector('table.devices .groups')?.textContent ?? ''));
  assert.notEqual(await page.locator('table.devices tbody').innerText(), before);
  assert.match(page.url(), /samples=5000/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('copies the command, JSON and CSV', async () => {
  const { page, context } = await open_page(browser, server.url, { hash: '#network=resnet50&devices=h200-sxm,l4' });
  await wait_for_answer(page);
  const copied = async (name) => {
    await page.getByRole('button', { name, exact: true }).click();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  assert.match(await copied('Command'), /^forerun predict resnet50 --device h200-sxm,l4 --precision fp16 --batch 8/);
  assert.equal(JSON.parse(await copied('JSON')).results.length, 2);
  assert.equal((await copied('CSV')).trim().split('\n').length, 3);
  await context.close();
});

test('a pasted config is answered, and a broken one is explained', async () => {
  const { page, context, complaints } = await open_page(browser, server.url, { hash: '#devices=h200-sxm' });
  await wait_for_answer(page);
  await page.locator('.segments label', { hasText: 'Config' }).click();
  await page.fill('#config-text', '{"model_type": ');
  assert.match(await page.locator('#config-error').innerText(), /Not JSON/);
  await page.fill('#config-text', JSON.stringify({ architectures: ['LlamaForCausalLM'], model_type: 'llama', hidden_size: 2048, intermediate_size: 5632, num_hidden_layers: 4, num_attention_heads: 32, num_key_value_heads: 4, vocab_size: 32000, max_position_embeddings: 2048, hidden_act: 'silu', rms_norm_eps: 1e-5, tie_word_embeddings: false }));
  await page.fill('#seq', '128');
  await page.locator('.segments label', { hasText: 'Decode' }).click();
  await wait_for_answer(page);
  assert.match(await page.locator('.summary').innerText(), /decode/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('what cannot be answered is said in words', async () => {
  const { page, context } = await open_page(browser, server.url, { hash: '#network=no-such-network&devices=h200-sxm' });
  await page.waitForSelector('[role=alert]');
  assert.match(await page.locator('[role=alert]').innerText(), /no-such-network/);
  await shot(page, 'desktop-error');
  await context.close();
});

test('works with the keyboard alone', async () => {
  const { page, context, complaints } = await open_page(browser, server.url);
  await wait_for_answer(page);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.className), 'skip');
  await page.locator('#network-name').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await wait_for_answer(page);
  assert.notEqual(await page.locator('.summary h1').innerText(), '');
  const first_dot = page.locator('#roofline .dot[tabindex="0"]');
  await first_dot.focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.evaluate(() => document.activeElement?.classList.contains('dot')), true);
  await page.locator('th button[data-sort="throughput"]').focus();
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-sort')), 'throughput');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('every control has a name for screen readers', async () => {
  const { page, context } = await open_page(browser, server.url);
  await wait_for_answer(page);
  const nameless = await page.evaluate(() => [...document.querySelectorAll('input, select, textarea, button, a')].filter((element) => {
    const labelled = element.labels?.length || element.getAttribute('aria-label') || element.textContent?.trim() || element.getAttribute('title');
    return !labelled;
  }).map((element) => element.outerHTML.slice(0, 120)));
  assert.deepEqual(nameless, []);
  await context.close();
});

test('the page offers exactly the values the API takes', async () => {
  const api = await (await fetch(`${server.url}openapi.json`)).json();
  const properties = api.components.schemas.PredictRequest.properties;
  const { page, context } = await open_page(browser, server.url);
  await page.waitForSelector('#precision');
  const options = (selector) => page.locator(selector).evaluateAll((nodes) => nodes.map((node) => node.value).sort());
  assert.deepEqual((await options('#precision option')).filter(Boolean), [...properties.precision.enum].sort());
  assert.deepEqual(await options('input[name=runtime]'), [...properties.runtime.enum].sort());
  assert.deepEqual(await options('input[name=phase]'), [...properties.phase.enum].sort());
  assert.deepEqual(await options('#optimizer option'), [...properties.optimizer.enum].sort());
  await context.close();
});

test('asks for the token when the server wants one', async () => {
  process.env.FORERUN_TOKEN = 'secret-of-the-test';
  const guarded = await start_server();
  delete process.env.FORERUN_TOKEN;
  const { page, context } = await open_page(browser, guarded.url);
  await page.waitForSelector('#token');
  await page.fill('#token', 'secret-of-the-test');
  await page.getByRole('button', { name: 'Use' }).click();
  await wait_for_answer(page);
  await context.close();
  assert.equal(await guarded.stop(), 0);
});

test('proposals are ranked, show before and after, and are asked again with one click', async () => {
  const { page, context, complaints } = await open_page(browser, server.url, { viewport: kDesktop, hash: '#network=resnet50&devices=h200-sxm&precision=fp32&runtime=eager&batch=1' });
  await wait_for_answer(page);
  await page.locator('#improve-run').click();
  await page.waitForSelector('#improve .proposal', { timeout: kPatienceMs });
  const factors = (await page.locator('#improve ol.proposals').first().locator('.proposal > b').allInnerTexts()).map((text) => Number(text.replace(/[×,\s]/g, '')));
  assert.ok(factors.length >= 3);
  assert.ok(factors.every((factor, i) => i === 0 || factor <= factors[i - 1] * 1.02), `${factors}: the best first`);
  assert.equal(await page.locator('#improve .proposal').first().locator('.fill').count(), 2);
  const before = await page.evaluate(() => location.hash);
  await page.locator('#improve .proposal button').first().click();
  await page.waitForFunction((hash) => location.hash !== hash, before);
  await wait_for_answer(page);
  assert.deepEqual(complaints, []);
  await context.close();
});
