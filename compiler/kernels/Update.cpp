// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor into a state.

#include "compiler/kernels/StateKernel.h"

namespace wsec {
namespace {

class Update final : public StateKernel<wse::UpdateOp> {
  bool replaces() const final { return true; }
};

} // namespace

WSEC_DEFINE_KERNEL(Update)

} // namespace wsec
