// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_DIFFERENTIAL_SHRINK_H
#define TEST_RUNTIME_DIFFERENTIAL_SHRINK_H

#include "test/runtime/differential/Choices.h"

#include <functional>

namespace wsec::runtime::test {

/// Makes a list of choices shorter and its numbers smaller for as long as
/// `fails` holds, which gets a list and returns the choices really made from
/// it, or nothing if it does not hold. At most `tries` calls.
std::vector<uint32_t> shrink(
    std::vector<uint32_t> choices, int tries,
    const std::function<std::vector<uint32_t>(std::vector<uint32_t>)> &fails);

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_SHRINK_H
