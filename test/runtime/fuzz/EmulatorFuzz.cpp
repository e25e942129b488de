// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EmulatorFuzz: runs what still loads on the wavelet engine and, launched by
// launch wavelets, on the strips engine, too.
#include "test/runtime/fuzz/RunTarget.h"

wsec::test::FuzzTarget &wsec::test::fuzzTarget() {
  static RunTarget target;
  return target;
}
