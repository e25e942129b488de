// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WaveletFuzz: runs what still loads on the stepping engine.
#include "test/runtime/fuzz/RunTarget.h"

wsec::test::FuzzTarget &wsec::test::fuzzTarget() {
  static RunTarget target(RunEngine::Wavelet);
  return target;
}
