// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_PARAMETERSOURCE_H
#define RUNTIME_MEMORYX_PARAMETERSOURCE_H

#include "runtime/program/program_generated.h"

#include <memory>
#include <string>

namespace wsec::runtime {

/// Who keeps the elements of parameters, and may change them between calls.
class ParameterSource {
public:
  virtual ~ParameterSource() = default;
  /// The elements of a parameter of `count` elements as they are now, of f32,
  /// f16 or bf16, in row-major order: good until they are changed. Throws
  /// BadCall where there is no parameter of that name and size.
  virtual std::shared_ptr<const uint8_t> elementsOf(const std::string &name,
                                                    program::ElementType type,
                                                    uint64_t count) = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_PARAMETERSOURCE_H
