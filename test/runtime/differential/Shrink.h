// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_DIFFERENTIAL_SHRINK_H
#define TEST_RUNTIME_DIFFERENTIAL_SHRINK_H

#include "test/runtime/differential/Choices.h"

#include <functional>

namespace wsec::runtime::test {

/// Gets choices and returns those really made from them, or nothing if what is
/// looked for does not happen.
using Fails = std::function<Choices::Lists(Choices::Lists)>;

/// Makes choices fewer and their numbers smaller for as long as it still
/// fails. At most `tries` calls.
Choices::Lists shrink(Choices::Lists choices, int tries, const Fails &fails);

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_SHRINK_H
