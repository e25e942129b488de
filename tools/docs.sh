#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the documentation as a site: build/docs/site/index.html. The pages are
# those of the tree, and the reference of operations, passes and the report's
# schema, made from their definitions. Installs what it needs into
# build/docs/venv. Exit code 1 if a page links to what is not there, or lies
# in no list of tools/docs/index.md.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in -h | --help) sed -n '4,8p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;; esac
[ -f build/release/build.ninja ] || { tools/setup.sh && cmake --preset release > /dev/null; }
cmake --build build/release --target wsec-docs > build/docs.log || { cat build/docs.log; exit 1; }

docs=build/docs
mkdir -p $docs
[ -x $docs/venv/bin/sphinx-build ] || {
  python3 -m venv $docs/venv
  $docs/venv/bin/pip install -q --disable-pip-version-check sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19
}
rm -rf $docs/pages
mkdir -p $docs/pages/reference
git ls-files -z | xargs -0 cp --parents -t $docs/pages
cp tools/docs/index.md $docs/pages
cp build/release/docs/*.md $docs/pages/reference
printf '# report.schema.json\n\n```{literalinclude} /runtime/host/report.schema.json\n:language: json\n```\n' > $docs/pages/reference/report.md
$docs/venv/bin/sphinx-build -q -W --keep-going -c tools/docs $docs/pages $docs/site
echo "$docs/site/index.html"
