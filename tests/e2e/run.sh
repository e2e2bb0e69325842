#!/usr/bin/env bash
# The page in a headless Chromium against `forerun serve`: tests/e2e/run.sh [PROGRAM] (default build/forerun).
# Screenshots are left in tests/e2e/screenshots. Does nothing where npm or Chromium is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export FORERUN=$(realpath "${1:-../../build/forerun}")
export CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if ! command -v npm >/dev/null || [ -z "$CHROMIUM" ]; then
  echo "e2e: npm or chromium is not installed, the page is not tested in a browser" >&2
  exit 0
fi
[ -d node_modules ] || npm ci --silent
npm run --silent test
