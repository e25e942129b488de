#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# From nothing to a pre-trained transformer on an emulated wafer: sets up,
# builds, compiles a sentence encoder, runs it, and compares with onnxruntime.
# Arguments are sentences; without any, four examples are used.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh --for=quickstart
PYTHONPATH=python .venv/bin/python -m wsec.sentences "$@"
