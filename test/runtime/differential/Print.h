// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_DIFFERENTIAL_PRINT_H
#define TEST_RUNTIME_DIFFERENTIAL_PRINT_H

#include "runtime/program/program_generated.h"

#include <string>

namespace wsec::runtime::test {

/// The program in the pe dialect: for people, and for wsec.
std::string print(const program::ProgramT &program);

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_PRINT_H
