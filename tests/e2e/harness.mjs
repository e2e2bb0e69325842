// Starts `forerun serve` and a headless Chromium for the tests.
// Environment: FORERUN (the program, default build/forerun), CHROMIUM (default /usr/bin/chromium).
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const program = process.env.FORERUN ?? path.join(root, 'build/forerun');
const screenshots = path.join(root, 'tests/e2e/screenshots');
mkdirSync(screenshots, { recursive: true });

/** A server on a free port; `stop` ends it with SIGTERM and resolves to its exit status. */
export async function start_server(...options) {
  const child = spawn(program, ['serve', '--port', '0', '--access-log', 'off', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const url = await new Promise((resolve, reject) => {
    child.stderr.on('data', (data) => {
      said += data;
      const match = /http:\/\/[^\s]+/.exec(said);
      if (match) resolve(match[0].replace(/\/?$/, '/'));
    });
    child.on('error', reject);
    child.on('exit', (status) => reject(new Error(`forerun serve ended with ${status}: ${said}`)));
  });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  return { url, stop: () => (child.kill('SIGTERM'), ended) };
}

export function start_browser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

export const kDesktop = { width: 1280, height: 900 };
export const kPhone = { width: 390, height: 844 };

/** A page that collects every console error, failed request and request to another host. */
export async function open_page(browser, url, { viewport = kDesktop, scheme = 'light', hash = '' } = {}) {
  const context = await browser.newContext({ viewport, colorScheme: scheme, permissions: ['clipboard-read', 'clipboard-write'], hasTouch: viewport.width < 500 });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints = [];
  const loaded = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('requestfailed', (request) => request.failure()?.errorText !== 'net::ERR_ABORTED' && complaints.push(`${request.url()} ${request.failure()?.errorText}`));
  page.on('request', (request) => !request.url().startsWith(url) && complaints.push(`asked another host: ${request.url()}`));
  page.on('response', (response) => loaded.push(response));
  await page.goto(url + hash);
  return { page, context, complaints, loaded };
}

/** Waits until an answer is shown and nothing is under way. */
export async function wait_for_answer(page) {
  await page.waitForSelector('table.devices tbody tr');
  await page.waitForFunction(() => document.querySelector('#results')?.getAttribute('aria-busy') !== 'true');
  await page.waitForTimeout(350);
  await page.waitForFunction(() => document.querySelector('#results')?.getAttribute('aria-busy') !== 'true');
  await page.waitForFunction(() => !document.querySelector('#run-sweep')?.disabled);
}

/** On a narrow screen the question is folded until it is asked for. */
export async function open_question(page) {
  if (await page.locator('#question').isVisible()) await page.locator('#question').click();
}

export const shot = (page, name, full = true) => page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage: full });
