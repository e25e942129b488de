// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EmulatorFuzz: runs what still loads on the burst engines, the one for
// compiled programs and the one for programs of remote calls.
#include "test/runtime/fuzz/RunTarget.h"

wsec::test::FuzzTarget &wsec::test::fuzzTarget() {
  static RunTarget target(RunEngine::Burst);
  return target;
}
