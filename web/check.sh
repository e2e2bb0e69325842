#!/usr/bin/env bash
# Tests the page and checks that web/dist is what its sources build to. Does nothing where npm is missing: building
# forerun needs web/dist alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v npm >/dev/null; then
  echo "web: npm is not installed, the page is not checked" >&2
  exit 0
fi
if [ "$(node -p 'const [a, b] = process.versions.node.split(".").map(Number); a > 20 || (a === 20 && b >= 19)')" != true ]; then
  echo "web: Node.js $(node --version) is older than 20.19, which the page's tools need: the page is not checked" >&2
  exit 0
fi
# The lock file lists the packages of the system it was written on; npm ci refuses it where optional ones differ.
[ -d node_modules ] || npm ci --silent 2>/dev/null || npm install --no-save --silent
npm run --silent check
npm run --silent test
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
npx vite build --logLevel warn --outDir "$built" --emptyOutDir
if ! diff -rq "$built" dist; then
  echo "web: dist/ is out of date; run: (cd web && npm run build)" >&2
  exit 1
fi
