// The tabs beside the pass: the load curve, a trace, a network on several devices.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { kDesktop, kPhone, open_page, shot, start_browser, start_server, wait_for_answer } from './harness.mjs';

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

const kLink = '#network=llama-3.2-1b&precision=bf16&devices=h100-sxm,l4';

for (const [name, viewport] of [['desktop', kDesktop], ['phone', kPhone]]) {
  test(`${name}: the load curve rises until the engine is saturated`, async () => {
    const { page, context, complaints } = await open_page(browser, server.url, { viewport, hash: kLink });
    await wait_for_answer(page);
    await page.getByRole('tab', { name: 'Serving' }).click();
    assert.equal(await page.locator('#results').isVisible(), false);
    assert.match(await page.evaluate(() => location.hash), /tab=serving/);
    await page.fill('#serving-input', '200');
    await page.fill('#serving-output', '50');
    await page.fill('#serving-ttft', '500');
    await page.click('#serving-run');
    await page.waitForFunction(() => document.querySelectorAll('#load-curve table tbody tr').length === 9, null, { timeout: 60_000 });
    assert.equal(await page.locator('#load-curve svg.plot').count(), 3);
    assert.equal(await page.locator('#load-curve path.line').count(), 5);
    await page.locator('#load-curve summary').click();
    const rows = await page.locator('#load-curve tbody tr').evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
    const tokens = rows.map((row) => Number(row[5].replace(/,/g, '')));
    assert.ok(tokens.slice(0, 6).every((value, i) => i === 0 || value > tokens[i - 1]), String(tokens));
    assert.match(rows[8][0], /saturated/);
    assert.match(await page.locator('#load-curve .note').first().innerText(), /keep the limits up to/);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    await shot(page, `${name}-load-curve`);
    assert.deepEqual(complaints, []);
    await context.close();
  });
}

test('a trace of arrivals is uploaded and answered', async () => {
  const { page, context, complaints } = await open_page(browser, server.url, { hash: `${kLink}&tab=serving` });
  await page.waitForSelector('#panel-serving:not([hidden])');
  await page.waitForFunction(() => document.querySelectorAll('#serving-device option').length === 2);
  const rows = Array.from({ length: 60 }, (_, i) => `${i * 0.1},${100 + i},20`);
  await page.setInputFiles('#serving-trace', { name: 'trace.csv', mimeType: 'text/csv', buffer: Buffer.from(['timestamp,input_tokens,output_tokens', ...rows].join('\n')) });
  await page.waitForFunction(() => document.querySelector('#serving-run').textContent === 'Run the trace');
  await page.click('#serving-run');
  const table = page.locator('#serving-trace-answer table');
  await table.waitFor();
  assert.match(await table.innerText(), /Time to first token/);
  await page.setInputFiles('#serving-trace', { name: 'bad.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2') });
  await page.waitForFunction(() => /timestamp/.test(document.querySelector('#panel-serving .tab-form .note').textContent));
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a step on eight devices shows what each rank holds and where it goes', async () => {
  const { page, context, complaints } = await open_page(browser, server.url, { hash: `${kLink}&tab=devices` });
  await page.waitForFunction(() => document.querySelectorAll('#devices-device option').length === 2);
  await page.fill('#devices-pipeline', '2');
  await page.fill('#devices-tensor', '4');
  await page.fill('#devices-seq', '1024');
  await page.click('#devices-run');
  await page.waitForSelector('#memory-bars svg');
  assert.equal(await page.locator('#memory-bars text.tick', { hasText: 'Ranks of stage' }).count(), 2);
  assert.ok((await page.locator('#memory-bars .segment').count()) >= 8);
  const parts = await page.locator('#step-timeline tbody th').allTextContents();
  for (const part of ['Compute', 'Communication', 'Bubble']) assert.ok(parts.includes(part), `${part} of ${parts}`);
  await page.fill('#devices-tensor', '7');
  await page.click('#devices-run');
  await page.waitForFunction(() => /14/.test(document.querySelector('#panel-devices .note').textContent));
  await shot(page, 'several-devices');
  assert.deepEqual(complaints.filter((text) => !/400/.test(text)), []);
  await context.close();
});
