#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Draws the map in the project's README: a small LLaMA in a pipeline of regions, as headless Chromium shows it.
# Usage: tools/map/picture.sh [OUTPUT.png]     default: tools/map/map.png
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '4,5p' "$0" | sed 's/^# //'; exit 0 ;; esac
output=$(realpath "${1:-$(dirname "$0")/map.png}")
PATH="${WSEC_BIN:-$(dirname "$(realpath "$0")")/../../build/release/bin}:$PATH"
browser=$(command -v chromium-headless-shell || command -v chromium) ||
  { echo "picture.sh: error: neither chromium-headless-shell nor chromium is installed" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
wsec model --preset=tiny-llama --batch=1 -o small-llama.onnx --weights=seeded > /dev/null
wsec small-llama.onnx --dim sequence=32 --mode=resident --mesh=48x32 --quiet --dump-placement=map.html
"$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --force-color-profile=srgb --virtual-time-budget=3000 \
  --window-size=1024,905 --screenshot="$output" "file://$work/map.html#launch=${WSEC_LAUNCH:-57}&theme=light" 2> "$work/log" ||
  { cat "$work/log" >&2; exit 1; }
echo "$output"
