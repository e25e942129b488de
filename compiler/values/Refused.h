// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMPILER_VALUES_REFUSED_H
#define COMPILER_VALUES_REFUSED_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/Twine.h"
#include <optional>
#include <string>
#include <type_traits>

namespace wsec::values {

/// What there is where something was refused, and the reason was said: false, a
/// null value or operation, or nothing. It is no number.
struct Refused {
  template <typename T,
            typename = std::enable_if_t<std::is_same_v<T, bool> ||
                                        std::is_same_v<T, mlir::Value> ||
                                        std::is_base_of_v<mlir::OpState, T>>>
  operator T() const {
    return T();
  }
  template <typename T>
  operator std::optional<T>() const {
    return std::nullopt;
  }
};
static_assert(!std::is_constructible_v<int64_t, Refused> &&
              !std::is_constructible_v<double, Refused>);

/// Says why.
inline Refused because(std::string &why, const llvm::Twine &reason) {
  why = reason.str();
  return {};
}

} // namespace wsec::values

#endif // COMPILER_VALUES_REFUSED_H
