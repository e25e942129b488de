// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all fuzz targets that read .wafer files know of them.
#ifndef TEST_RUNTIME_FUZZ_PROGRAMTARGET_H
#define TEST_RUNTIME_FUZZ_PROGRAMTARGET_H

#include "test/runtime/ExampleFile.h"
#include "test/runtime/fuzz/FuzzTarget.h"

namespace wsec::test {

class ProgramTarget : public FuzzTarget {
public:
  uint64_t interesting(const Bytes &file) override {
    return runtime::test::programEnd(file);
  }
  bool isSound(const Bytes &file) const override {
    return runtime::test::tablesVerify(file);
  }
  void mend(Bytes &file) const override { runtime::test::mendCodeBytes(file); }
};

} // namespace wsec::test

#endif // TEST_RUNTIME_FUZZ_PROGRAMTARGET_H
