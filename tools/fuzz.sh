#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fuzzes what reads files of strangers, led by coverage, under the address and
# undefined-behaviour sanitizers. Usage: tools/fuzz.sh [SECONDS [TARGET ...]]
#   SECONDS  for all targets, which run beside each other; 60 by default
#   TARGET   LoaderFuzz EmulatorFuzz (the runtime; two minutes of
#            processor time to build), ImportFuzz PipelineFuzz (the compiler;
#            eight). Default: all.
# Seeds are programs of the tests, made with build/release. Finds are left in
# build/fuzz/<target>-crash-*; a corpus grows in build/fuzz/corpus. Exit code 1
# if anything was found.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in -h | --help) sed -n '4,12p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;; esac
seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(LoaderFuzz EmulatorFuzz ImportFuzz PipelineFuzz)

build=build/fuzz
mkdir -p "$build"

# configure SOURCE FOLDER
configure() {
  [ -f "$2/build.ninja" ] && return
  cmake -S "$1" -B "$2" -G Ninja -DWSEC_FUZZ=ON \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -gline-tables-only" \
    -DCMAKE_CXX_FLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-sanitize=vptr" \
    -DCMAKE_TOOLCHAIN_FILE="$PWD/tools/Toolchain.cmake" > "$2.log" 2>&1 || { cat "$2.log"; exit 1; }
}

# seed_corpus FOLDER KIND: models and programs that the tests know. Kind: onnx,
# mlir (at every level) or wafer (with their weights).
seed_corpus() {
  .venv/bin/python - "$1" "$2" <<'PYTHON'
import subprocess, sys, tempfile
from pathlib import Path
sys.path.insert(0, "test/e2e/models")
import small_models
corpus, kind = Path(sys.argv[1]), sys.argv[2]

def wsec(*arguments):
    subprocess.run(["build/release/bin/wsec", "--quiet", *arguments], check=True)

with tempfile.TemporaryDirectory() as folder:
    for name in ("matmul", "perceptron", "attention"):
        path, _ = small_models.obtain(name, Path(folder))
        if kind == "onnx":
            (corpus / f"{name}.onnx").write_bytes(path.read_bytes())
        if kind == "wafer":
            wsec(path, "--mesh=4x3", "--bundle", "-o", corpus / f"{name}.wafer")
        if kind == "mlir":
            for phase in ("canonicalize", "select", "schedule", "lower"):
                wsec(path, "--mesh=4x3", f"--stop-after={phase}", "--print-constants",
                     "-o", corpus / f"{name}-{phase}.mlir")
    (Path(folder) / "past.bin").write_bytes(bytes(2 * 16 * 4))  # what cache.mlir loads
    for path in sorted(Path("dialects/pe/tutorial").glob("*.mlir")):
        if kind == "wafer":
            wsec(path, "--weights", folder, "--bundle", "-o", corpus / f"{path.stem}.wafer")
        if kind == "mlir":
            (corpus / path.name).write_bytes(path.read_bytes())
if kind == "mlir":
    for path in sorted(Path("test/dialects").glob("*/*.mlir")):
        (corpus / f"{path.parent.name}-{path.name}").write_bytes(path.read_bytes())
PYTHON
}

# What the sanitizers cannot know of MLIR's own library, which is not
# instrumented: it fills containers and allocators that our side makes (and
# whose free space our side poisons), and keeps some things for ever.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0
export UBSAN_OPTIONS=print_stacktrace=1

# look_up TARGET: sets source, folder and kind.
look_up() {
  case "$1" in
    LoaderFuzz | EmulatorFuzz) source=runtime folder=$build/runtime kind=wafer ;;
    ImportFuzz) source=. folder=$build/compiler kind=onnx ;;
    PipelineFuzz) source=. folder=$build/compiler kind=mlir ;;
    *) echo "no target '$1'; see tools/fuzz.sh --help" >&2; exit 2 ;;
  esac
}

# prepare TARGET: builds it, and makes programs or models to begin with.
prepare() {
  look_up "$1"
  configure "$source" "$folder"
  cmake --build "$folder" --target "$1" > "$folder-$1.log" 2>&1 ||
    { tail -40 "$folder-$1.log"; exit 1; }
  local corpus=$build/corpus/$1
  if [ ! -d "$corpus" ]; then
    mkdir -p "$corpus.new"
    seed_corpus "$corpus.new" "$kind"
    mv "$corpus.new" "$corpus"
  fi
}

# fuzz TARGET: fails if it finds anything.
fuzz() {
  look_up "$1"
  "$folder/bin/$1" -max_total_time="$seconds" -max_len=100000 -timeout=60 \
    -rss_limit_mb=6000 -print_final_stats=1 -artifact_prefix="$build/$1-" \
    "$build/corpus/$1" > "$build/$1.log" 2>&1
}

for target in "${targets[@]}"; do prepare "$target"; done
running=()
for target in "${targets[@]}"; do
  fuzz "$target" &
  running+=($!)
done
found=0
for i in "${!targets[@]}"; do
  target=${targets[$i]}
  if ! wait "${running[$i]}"; then
    found=1
    grep -E 'ERROR|SUMMARY|runtime error|bug:|^    #[0-9]' "$build/$target.log" | head -20
    echo "found a bug; the input is $build/$target-*, all output in $build/$target.log"
  fi
  printf '\033[1m==> %s, %s s\033[0m\n' "$target" "$seconds"
  grep -E 'stat::number_of_executed|DONE' "$build/$target.log" || true
done
exit $found
