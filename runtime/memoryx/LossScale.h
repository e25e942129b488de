// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_LOSSSCALE_H
#define RUNTIME_MEMORYX_LOSSSCALE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wsec::runtime {

/// The input of a program whose gradients are of f16 or cb16 that takes the
/// scale.
inline constexpr const char *lossScaleName = "loss_scale";

/// What the loss is multiplied by before the backward pass, so that gradients
/// of 16 bits do not underflow. It doubles after more than `window` steps
/// without overflow in a row, and is halved by each overflow, within bounds.
///
/// Bounds are those of f16; cb16, with its wider exponent, starts at and goes
/// up to 2^31. bf16 and f32 need none.
struct LossScale {
  /// A scale of gradients of `precision`, "cb16", begins so.
  static std::optional<LossScale> of(std::string_view precision) {
    LossScale its;
    if (precision == "cb16")
      its.scale = its.most = std::ldexp(1.0, 31);
    return precision == "f16" || precision == "cb16" ? std::optional(its)
                                                     : std::nullopt;
  }

  double least = std::ldexp(1.0, -14), most = std::ldexp(1.0, 15);
  uint64_t window = 2000;
  double scale = most;
  uint64_t cleanSteps = 0; ///< since the scale has changed

  void afterStep(bool overflow) {
    if (overflow) {
      scale = std::max(least, scale / 2);
      cleanSteps = 0;
    } else if (++cleanSteps > window) {
      scale = std::min(most, scale * 2);
      cleanSteps = 0;
    }
  }
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_LOSSSCALE_H
