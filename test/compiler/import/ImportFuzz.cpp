// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ImportFuzz COUNT SEED FILE.onnx...: imports COUNT random mutations of each
// file, with seeds from SEED on. Every one must import or be refused with an
// error; anything else is a bug that shows as a crash or a hang.
#include "compiler/Registration.h"
#include "compiler/import/ImportModel.h"
#include "test/runtime/Mutation.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

using namespace mlir;
using namespace wsec;
using namespace wsec::test;

namespace {

enum class Outcome { Imported, Refused, Silent, Invalid };

Outcome importFile(const std::string &path, const DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  unsigned errors = 0;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
  });
  OwningOpRef<ModuleOp> module = importModel(path, ImportOptions(), &context);
  if (!module)
    return errors ? Outcome::Refused : Outcome::Silent;
  return succeeded(verify(*module)) ? Outcome::Imported : Outcome::Invalid;
}

/// False if a mutation fails without an error or gives invalid IR.
bool fuzz(const std::string &path, uint64_t count, uint64_t seed,
          const DialectRegistry &registry) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<uint8_t> file((std::istreambuf_iterator<char>(in)), {});
  // Beside the original, where external data is looked for.
  const std::string changed = path + ".changed.onnx";
  Watch watch;
  uint64_t imported = 0;
  for (uint64_t i = 0; i < count; ++i) {
    watch.start(seed + i, 60);
    Random random(seed + i);
    std::vector<uint8_t> bytes = mutate(file, file.size(), random);
    std::ofstream(changed, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               std::streamsize(bytes.size()));
    Outcome outcome = importFile(changed, registry);
    imported += outcome == Outcome::Imported;
    if (outcome == Outcome::Silent || outcome == Outcome::Invalid) {
      std::fprintf(stderr, "%s, seed %llu: %s\n", path.c_str(),
                   static_cast<unsigned long long>(seed + i),
                   outcome == Outcome::Silent ? "fails without an error"
                                              : "gives invalid IR");
      return false;
    }
  }
  std::remove(changed.c_str());
  std::printf("%llu mutations, %llu still import\n",
              static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(imported));
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fputs("usage: ImportFuzz COUNT SEED FILE.onnx...\n", stderr);
    return 2;
  }
  DialectRegistry registry;
  registerDialects(registry);
  bool good = true;
  for (int i = 3; i < argc; ++i)
    good &= fuzz(argv[i], std::strtoull(argv[1], nullptr, 10),
                 std::strtoull(argv[2], nullptr, 10), registry);
  return good ? 0 : 1;
}
