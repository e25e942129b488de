#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# From nothing to a language model that learns on an emulated wafer: sets up,
# builds, trains 0.8 million parameters on the manual of Python for 300 steps.
# Arguments are flags of wsec train, e.g. --num-systems=4.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh --for=quickstart
PYTHONPATH=python .venv/bin/python -m wsec.manual "$@"
