// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A state into a tensor.

#include "compiler/kernels/StateKernel.h"

namespace wsec {
namespace {

class Recall final : public StateKernel<wse::RecallOp> {};

} // namespace

WSEC_DEFINE_KERNEL(Recall)

} // namespace wsec
