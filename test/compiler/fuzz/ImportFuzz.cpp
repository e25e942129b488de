// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ImportFuzz: imports ONNX files. Takes them from its arguments only.
#include "compiler/Registration.h"
#include "compiler/import/ImportModel.h"
#include "test/compiler/fuzz/ScratchFile.h"
#include "test/runtime/fuzz/FuzzTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::test;

namespace {

class ImportFuzz : public FuzzTarget {
public:
  ImportFuzz() { registerDialects(registry); }

  std::string run(Bytes input, const std::string &folder) override {
    // Beside the original, where external data is looked for.
    ScratchFile file(folder, ".onnx", input);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    unsigned errors = 0;
    std::string last;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
      last = diagnostic.str();
    });
    OwningOpRef<ModuleOp> module =
        importModel(file.path(), ImportOptions(), &context);
    if (!module && errors == 0)
      foundBug("import fails without an error");
    if (module && failed(verify(*module)))
      foundBug("import gives invalid IR: " + last);
    return module ? "imported" : "refused";
  }

private:
  DialectRegistry registry;
};

} // namespace

FuzzTarget &wsec::test::fuzzTarget() {
  static ImportFuzz target;
  return target;
}
