// The build leaves files with fixed names in dist/: the page and the documents; CMake embeds them into the forerun binary.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: {
      input: { app: 'index.html', docs: 'docs.html' },
      output: { entryFileNames: '[name].js', chunkFileNames: 'shared.js', assetFileNames: '[name][extname]' },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/docs/', '/healthz', '/metrics', '/openapi.json'].map((path) => [
        path,
        process.env.FORERUN_URL ?? 'http://127.0.0.1:8080',
      ]),
    ),
  },
  test: { include: ['src/**/*.test.ts'] },
});
