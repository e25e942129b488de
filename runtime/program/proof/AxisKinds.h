// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions along an axis that agree are of one kind, so that work can follow
// kinds and not positions.
#ifndef RUNTIME_PROGRAM_PROOF_AXISKINDS_H
#define RUNTIME_PROGRAM_PROOF_AXISKINDS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

namespace wsec::runtime {

/// The kind of each position. Kinds are numbered as they are first met.
struct AxisKinds {
  std::vector<uint32_t> of;            ///< by position
  std::vector<int64_t> representative; ///< by kind

  size_t count() const { return representative.size(); }
  void add(uint32_t kind) {
    if (kind == count())
      representative.push_back(int64_t(of.size()));
    of.push_back(kind);
  }
};

/// Equal keys are of one kind; `keyAt` gives a position's.
template <typename KeyAt>
AxisKinds kindsBy(size_t length, const KeyAt &keyAt) {
  AxisKinds kinds;
  std::map<std::decay_t<decltype(keyAt(size_t(0)))>, uint32_t> numbers;
  for (size_t i = 0; i < length; ++i)
    // Neighbours are mostly alike.
    if (i > 0 && keyAt(i) == keyAt(i - 1))
      kinds.add(kinds.of.back());
    else
      kinds.add(numbers.try_emplace(keyAt(i), uint32_t(numbers.size()))
                    .first->second);
  return kinds;
}

/// Kinds that agree in both.
AxisKinds bothKinds(const AxisKinds &a, const AxisKinds &b);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_AXISKINDS_H
