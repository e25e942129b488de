// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_PROGRAM_CHECKEDPROGRAM_H
#define TEST_RUNTIME_PROGRAM_CHECKEDPROGRAM_H

#include "runtime/program/Errors.h"
#include "test/runtime/ExampleFile.h"

#include <gtest/gtest.h>

namespace wsec::runtime::test {

/// A valid program with something of everything, to break one rule of.
class CheckedProgram : public testing::Test {
protected:
  CheckedProgram() : builder(makeEverything(countUp(70))) {}

  program::ProgramT &source() { return builder.source; }
  program::PEClassT &peClass() { return *source().classes[0]; }
  program::HostStreamT &stream(size_t index) {
    return *source().streams[index];
  }
  program::StatementT &statement(size_t index) {
    return *peClass().routines[0]->body[index];
  }
  program::InstructionT &receive() {
    return *statement(0).kind.AsInstruction();
  }
  program::InstructionT &multiply() {
    return *statement(1).kind.AsLoop()->body[0]->kind.AsInstruction();
  }

  void expectRefused(const std::string &message) {
    try {
      checkProgram(builder.finish());
      FAIL() << "accepted; expected " << message;
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()), message);
    }
  }

  ProgramBuilder builder;
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_PROGRAM_CHECKEDPROGRAM_H
