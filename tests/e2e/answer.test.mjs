// The answer in a sentence, limits, serving, the graph, a GPU of one's own, documents; accessibility by axe-core; sizes of targets.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { kDesktop, kPhone, open_page, open_question, shot, start_browser, start_server, wait_for_answer } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const kWide = { width: 1440, height: 900 };
const kTablet = { width: 1024, height: 768 };
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

const answer = (page) => page.locator('#answer').innerText();
const headings = (page) => page.locator('table.devices thead button').evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().right <= innerWidth).map((one) => one.dataset.sort));

for (const [name, viewport] of [['1440', kWide], ['1024', kTablet]]) {
  test(`${name}: price, rent, MIG and the serving figures are visible`, async () => {
    for (const [hash, wanted] of [['#network=resnet50', ['latency', 'cost', 'rent', 'mig']], ['#network=llama-3.2-1b', ['ttft', 'tpot', 'tokens', 'serving_memory', 'token_cost', 'rent', 'mig']]]) {
      const { page, context, complaints } = await open_page(browser, server.url, { viewport, hash });
      await wait_for_answer(page);
      const shown = await headings(page);
      for (const key of wanted) assert.ok(shown.includes(key), `${key} of ${hash} at ${name}: ${shown}`);
      assert.notEqual(await answer(page), '');
      await shot(page, `${name}-${hash.slice(9)}`, false);
      assert.deepEqual(complaints, []);
      await context.close();
    }
  });
}

test('a language model opens as a serving question, a vision network as a pass', async () => {
  const { page, context } = await open_page(browser, server.url, { hash: '#devices=l4,h100-sxm' });
  await wait_for_answer(page);
  assert.match(await answer(page), /samples/);
  await page.fill('#network-name', 'llama-3.2-1b');
  await page.keyboard.press('Enter');
  await page.waitForSelector('th button[data-sort="ttft"]');
  assert.equal(await page.locator('input[name=task][value=serving]').isChecked(), true);
  assert.match(await answer(page), /tokens/);
  assert.match(page.url(), /concurrency=16/);
  await page.fill('#network-name', 'resnet50');
  await page.keyboard.press('Enter');
  await page.waitForSelector('th button[data-sort="latency"]');
  assert.equal(await page.inputValue('#precision'), 'fp16');
  await context.close();
});

test('a limit colours the table and changes the answer', async () => {
  const { page, context, complaints } = await open_page(browser, server.url, { hash: '#network=resnet50&batch=8&devices=h100-sxm,l4,t4' });
  await wait_for_answer(page);
  await page.fill('#max-latency-ms', '1');
  await page.waitForFunction(() => /^None of the 3/.test(document.querySelector('#answer')?.textContent ?? ''));
  await wait_for_answer(page);
  assert.equal(await page.locator('td.fits.misses').count(), 3);
  await page.locator('#max-latency-ms-slider').focus();
  await page.keyboard.press('End');
  await page.waitForFunction(() => document.querySelectorAll('td.fits.keeps').length === 3);
  assert.match(page.url(), /max_latency_ms=10000/);
  await page.fill('#max-usd-per-hour', '0.8');
  await page.waitForFunction(() => document.querySelectorAll('td.num.misses').length > 0);
  await wait_for_answer(page);
  assert.match(await answer(page), /l4/i);
  const { page: again, context: second } = await open_page(browser, server.url, { hash: new URL(page.url()).hash });
  await wait_for_answer(again);
  assert.equal(await answer(again), await answer(page));
  assert.deepEqual(complaints, []);
  await second.close();
  await context.close();
});

test('the link holds what is usual too', async () => {
  const { page, context } = await open_page(browser, server.url);
  await wait_for_answer(page);
  await page.getByRole('button', { name: 'Link' }).click();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  for (const part of ['network=resnet50', 'precision=fp16', 'runtime=graph', 'batch=8', 'devices=h200-sxm']) assert.ok(link.includes(part), link);
  await context.close();
});

test('text that makes no sense dims the answer and says why', async () => {
  const { page, context } = await open_page(browser, server.url, { hash: '#network=resnet50&devices=l4' });
  await wait_for_answer(page);
  await page.fill('#batch', '99999999999');
  assert.match(await page.locator('#batch-problem').innerText(), /whole number/);
  assert.match(await page.locator('.waiting').innerText(), /Batch.*last answer/);
  assert.equal(await page.locator('#results.stale').count(), 1);
  await page.fill('#batch', '4');
  await wait_for_answer(page);
  assert.equal(await page.locator('#results.stale').count(), 0);
  await context.close();
});

test('the graph shows nodes with their cost', async () => {
  const { page, context, complaints } = await open_page(browser, server.url, { hash: '#network=resnet50&devices=l4' });
  await wait_for_answer(page);
  await page.click('#load-graph');
  await page.waitForSelector('.graph-nodes li');
  assert.match(await page.locator('#graph [role=status]').innerText(), /of 17\d nodes/);
  await page.fill('#graph-find', 'gemm');
  await page.waitForFunction(() => document.querySelectorAll('.graph-nodes li').length === 1);
  await page.selectOption('#graph-cost', 'parameters');
  assert.match(await page.locator('.graph-cost').innerText(), /2\.05 M/);
  await page.fill('#graph-find', '');
  await page.locator('#graph').scrollIntoViewIfNeeded();
  await shot(page, 'desktop-graph', false);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a GPU of one\'s own is answered from its figures', async () => {
  const { page, context, complaints } = await open_page(browser, server.url, { hash: '#network=resnet50&devices=l4' });
  await wait_for_answer(page);
  await page.locator('.own-device summary').click();
  for (const [key, value] of Object.entries({ name: 'Bench card', memory_gib: 24, memory_bandwidth_gb_per_s: 900, fp16_tensor: 200, fp32: 50, sm_count: 90, power_limit_w: 250 })) await page.fill(`#own-${key}`, String(value));
  await page.waitForSelector('tr[data-device="my-gpu"]');
  assert.match(await page.locator('tr[data-device="my-gpu"] .name').innerText(), /Bench card/);
  await page.click('#own-remove');
  await page.waitForFunction(() => document.querySelectorAll('table.devices tbody tr').length === 1);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('the phone shows the answer first, and reacts to a refused file', async () => {
  const { page, context } = await open_page(browser, server.url, { viewport: kPhone });
  await wait_for_answer(page);
  const top = await page.locator('#answer').evaluate((element) => element.getBoundingClientRect().top);
  assert.ok(top < kPhone.height * 0.6, `${top} px down`);
  assert.ok((await headings(page)).includes('cost'), 'the price is on the first screen');
  await open_question(page);
  await page.locator('.segments label', { hasText: 'File' }).click();
  await page.setInputFiles('#model-file', { name: 'odd.bin', mimeType: 'application/octet-stream', buffer: Buffer.from('not a model') });
  await page.waitForSelector('#error');
  await page.waitForFunction(() => { const at = document.querySelector('#error').getBoundingClientRect(); return at.top >= 0 && at.bottom <= innerHeight; });
  assert.match(await page.locator('#error').innerText(), /odd\.bin/);
  await shot(page, 'phone-refused', false);
  await context.close();
});

test('every field has an explanation', async () => {
  const { page, context } = await open_page(browser, server.url);
  await wait_for_answer(page);
  const bare = await page.locator('#form .field, #form .limit').evaluateAll((fields) => fields.filter((field) => !field.querySelector('.help')?.dataset.help).map((field) => field.textContent));
  assert.deepEqual(bare, []);
  await page.locator('.help:visible').first().click();
  assert.match(await page.locator('.tooltip').innerText(), /./);
  await context.close();
});

test('documents and the API can be read', async () => {
  const { page, context, complaints, loaded } = await open_page(browser, `${server.url}docs#getting-started`);
  await page.waitForSelector('#article h1');
  assert.match(await page.locator('#article h1').innerText(), /Getting started/);
  await page.locator('nav a', { hasText: 'How accurate' }).click();
  await page.waitForFunction(() => document.querySelector('#article h1')?.textContent === 'Accuracy');
  assert.ok(await page.locator('#article img').evaluate((image) => image.decode().then(() => image.naturalWidth > 0)));
  await page.locator('nav a', { hasText: /^API$/ }).click();
  await page.waitForSelector('#predict');
  assert.match(await page.locator('#article').innerText(), /POST \/v1\/predict/);
  assert.ok(loaded.length > 3);
  await shot(page, 'desktop-api', false);
  assert.deepEqual(complaints.filter((text) => !text.startsWith('asked another host')), []);
  await context.close();
});

const kPages = [['pass', '#network=resnet50&devices=h200-sxm,l4,t4&max_latency_ms=4'], ['serving', '#network=llama-3.2-1b&devices=h200-sxm,l4,t4'], ['documents', 'docs#accuracy'], ['API', 'docs#api']];
for (const [name, hash] of kPages) {
  for (const [scheme, viewport] of [['light', kDesktop], ['dark', kPhone]]) {
    test(`${name}, ${scheme}: axe-core finds no violation, targets are at least 24 px`, async () => {
      const { page, context } = await open_page(browser, server.url + hash, { viewport, scheme });
      await page.waitForSelector('table.devices tbody tr, #article h1');
      await page.waitForTimeout(600);
      const session = await context.newCDPSession(page);
      await session.send('Page.setBypassCSP', { enabled: true });
      await session.send('Runtime.evaluate', { expression: axe });
      const found = await page.evaluate(async () => (await window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })).violations.map((rule) => [rule.id, rule.nodes.map((node) => node.html.slice(0, 120))]));
      assert.deepEqual(found, []);
      const small = await page.evaluate(() => [...document.querySelectorAll('button, summary, select, input, nav a')].map((element) => element.closest('label') ?? element).filter((element) => {
        const { width, height } = element.getBoundingClientRect();
        return width > 1 && height > 0 && (width < 23.5 || height < 23.5);
      }).map((element) => element.outerHTML.slice(0, 120)));
      assert.deepEqual(small, []);
      await context.close();
    });
  }
}
