#!/usr/bin/env bash
# packaging/site.sh [FOLDER]: the documents as a static site (mkdocs-material from PyPI) in FOLDER (build/site).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(realpath -m "${1:-build/site}")
tools=build/site-tools
[ -x $tools/bin/mkdocs ] || { "${PYTHON:-/usr/bin/python3}" -m venv $tools && $tools/bin/pip --quiet install 'mkdocs-material<10'; }
NO_MKDOCS_2_WARNING=1 $tools/bin/mkdocs build --quiet --config-file packaging/mkdocs.yml --site-dir "$folder"
echo "$folder/index.html"
