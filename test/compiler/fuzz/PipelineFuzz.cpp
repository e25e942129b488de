// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PipelineFuzz: compiles programs in onnx, wse or pe, as text, through all the
// phases that are left, and runs what comes of it on both engines. Takes them
// from its arguments only.
#include "compiler/Pipeline.h"
#include "test/compiler/fuzz/ScratchFile.h"
#include "test/runtime/fuzz/FuzzTarget.h"
#include "test/runtime/fuzz/RunProgram.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/raw_ostream.h"

#include <string_view>

using namespace wsec;
using namespace wsec::test;

namespace {

class PipelineFuzz : public FuzzTarget {
public:
  PipelineFuzz() {
    // The compiler asks what the command line says of passes.
    mlir::registerPassManagerCLOptions();
    mlir::registerDefaultTimingManagerCLOptions();
  }

  bool text() const override { return true; }

  std::string run(Bytes input, const std::string &folder) override {
    const std::string_view text(reinterpret_cast<const char *>(input.data()),
                                input.size());
    // MLIR's bytecode is another parser's matter.
    if (text.substr(0, 4) == "ML\xefR")
      return "bytecode";
    ScratchFile file(folder, ".mlir", input);
    ScratchFile program(folder, ".wafer", {});
    CompileOptions options;
    options.input = file.path();
    options.output = program.path();
    options.quiet = true;
    if (text.find("func.func") != text.npos)
      options.mesh = "8x8";
    std::string errors;
    llvm::raw_string_ostream stream(errors);
    options.errors = &stream;
    if (failed(compile(options))) {
      if (errors.empty() ||
          errors.find("without an explanation") != errors.npos)
        foundBug("the compiler fails without an error");
      return "refused";
    }
    return runCompiled(program.bytes(), folder);
  }

private:
  /// What the compiler writes must load.
  static std::string runCompiled(const Bytes &file, const std::string &folder) {
    const std::string end = runProgram(file, folder);
    if (end.find("refused to load") != end.npos)
      foundBug("the compiler wrote a program that is " + end);
    return "compiled, " + end;
  }
};

} // namespace

FuzzTarget &wsec::test::fuzzTarget() {
  static PipelineFuzz target;
  return target;
}
