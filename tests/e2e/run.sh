#!/usr/bin/env bash
# The page in a headless Chromium against `forerun serve`: tests/e2e/run.sh [PROGRAM] (default build/forerun).
# Screenshots are left in tests/e2e/screenshots. Says so and does nothing where Node.js, Chromium or playwright-core cannot
# be had; set FORERUN_E2E=required to make that an error.
set -euo pipefail
folder=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
FORERUN=$(realpath -e "${1:-$folder/../../build/forerun}")
export FORERUN
cd "$folder"
skip() {
  echo "e2e: SKIPPED, the page was not tested in a browser: $1" >&2
  [ "${FORERUN_E2E:-}" != required ] || exit 1
  exit 0
}
export CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$CHROMIUM" ] || skip "no chromium (Debian: apt-get install chromium)"
command -v npm >/dev/null || skip "no npm (Debian: apt-get install nodejs npm)"
[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 18')" = true ] || skip "Node.js $(node --version) is older than 18"
if [ ! -d node_modules ]; then
  timeout 120 npm ci --silent --no-audit --no-fund || { rm -rf node_modules; skip "npm could not fetch playwright-core"; }
fi
npm run --silent test
