// The build leaves four files with fixed names in dist/; CMake embeds them into the forerun binary.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'app.js',
        chunkFileNames: '[name].js',
        assetFileNames: (asset) => (asset.names[0]?.endsWith('.css') ? 'app.css' : '[name][extname]'),
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/healthz', '/metrics', '/openapi.json'].map((path) => [
        path,
        process.env.FORERUN_URL ?? 'http://127.0.0.1:8080',
      ]),
    ),
  },
  test: { include: ['src/**/*.test.ts'] },
});
