// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PE_UNALIGNEDFLOAT_H
#define RUNTIME_PE_UNALIGNEDFLOAT_H

namespace wsec::runtime {

/// A float at any address. Weights are used where they lie in their file, and
/// a writer of protobuf puts tensors anywhere. Words that may come from the
/// host are read as this, one by one, or as vectors that need no alignment.
using UnalignedFloat __attribute__((aligned(1))) = float;

} // namespace wsec::runtime

#endif // RUNTIME_PE_UNALIGNEDFLOAT_H
