// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hand-written program goes through emit and comes back through the loader.

#include "compiler/emit/Emit.h"
#include "dialects/pe/Pe.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Digest.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;
using namespace wsec;

namespace {

/// y = x + w, four elements in each of two PEs.
constexpr const char *kAdd = R"(
pe.program @add mesh [2, 1] machine "wse2" command 0 model "add.onnx" {
  tensor input @x : tensor<8xf32>
  tensor weight @w from <"w.bin" at 16> : tensor<8xf32>
  tensor output @y : tensor<8xf32>
  tensor constant @c = dense<[1, -2]> : tensor<2xi64> : tensor<2xi64>

  route 0 [0:1, 0:1] from west to [east, ramp]
  route 0 [1:2, 0:1] from west to [ramp]
  route 1 [0:1, 0:1] from west to [east, ramp]
  route 1 [1:2, 0:1] from west to [ramp]
  route 2 [0:1, 0:1] from ramp to [east]
  route 3 [1:2, 0:1] from ramp to [east]

  class @all [0:2, 0:1] {
    %px = scalar px
    %c4 = constant 4
    %unused = scalar mul(%px, %c4)
    %c0 = constant 0
    %west = scalar equal(%px, %c0)
    buffer @v at 8192, 16 bytes of f32 node "/Add"
    routine @add {
      vector mov @v[0, strides = [1, 1]] = fabric(1, depth = 2, window = %px * 4 of 8) over (1, 4)
      vector add @v[0, strides = [1, 1]] = @v[0, strides = [1, 1]], fabric(1, depth = 2, window = %px * 4 of 8) over (1, 4)
      for %i < 4 {
        vector mov fabric(2) = @v[%i, strides = [1]] over (1) if %west thread 1
      }
      await [1]
    }
  }
  stream in @operands color 1 lanes [0 -> 0:2] {
    %px = scalar px
    segment @x[%px * 4, strides = [1]] over (4)
    segment @w[%px * 4, strides = [1]] over (4)
  }
  kernel @Add kind "elementwise" nodes ["/Add"] region [0:2, 0:1]
      cycles 20.0 of 8.0 bound "stream"
  launch @add for @Add streams [@operands]
}
)";

class EmitTest : public ::testing::Test {
protected:
  EmitTest() {
    context.loadDialect<pe::PeDialect>();
    folder = std::filesystem::temp_directory_path() /
             ("wsec-emit-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    options.outputPath = (folder / "program.wafer").string();
    options.weightFolder = folder.string();
    writeWeights(48);
  }
  ~EmitTest() override { std::filesystem::remove_all(folder); }

  void writeWeights(size_t bytes) {
    weights.resize(bytes);
    for (size_t i = 0; i < bytes; ++i)
      weights[i] = char('a' + i % 26);
    std::ofstream(folder / "w.bin", std::ios::binary) << weights;
  }

  /// Emits `text`; what was reported is in `messages`.
  bool emit(const std::string &text) {
    messages.clear();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      for (Diagnostic &note : diagnostic.getNotes())
        messages += note.str() + "\n";
      return success();
    });
    auto module = parseSourceString<ModuleOp>(text, &context);
    return module && succeeded(emitProgram(*module, options));
  }
  bool reported(const std::string &part) const {
    return messages.find(part) != std::string::npos;
  }
  std::string bytesOf(const std::string &path) const {
    std::ifstream file(path, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }
  static std::string replaced(std::string text, const std::string &from,
                              const std::string &to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }

  MLIRContext context;
  std::filesystem::path folder;
  EmitOptions options;
  std::string weights, messages;
};

TEST_F(EmitTest, LoadsAgain) {
  ASSERT_TRUE(emit(kAdd)) << messages;
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  const program::Program &program = loaded->program();
  EXPECT_EQ(program.model()->str(), "add.onnx");
  EXPECT_EQ(program.machine()->name()->str(), "wse2");
  EXPECT_EQ(program.machine()->width(), 2);
  EXPECT_EQ(program.parameters(), 8u);
  EXPECT_EQ(program.weight_bytes(), 32u);
  EXPECT_EQ(program.routes()->size(), 6u);
  EXPECT_EQ(program.launches()->Get(0)->streams()->Get(0), 0u);
  EXPECT_EQ(program.kernels()->Get(0)->onnx_nodes()->Get(0)->str(), "/Add");
}

TEST_F(EmitTest, WritesCode) {
  ASSERT_TRUE(emit(kAdd)) << messages;
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  const program::PEClass &all = *loaded->program().classes()->Get(0);
  EXPECT_EQ(all.scalars()->size(), 3u) << "px, 0 and equal; not the unused";
  EXPECT_EQ(all.code_bytes(), runtime::codeBytes(all));
  const auto &body = *all.routines()->Get(0)->body();
  ASSERT_EQ(body.size(), 4u);
  const auto *loop = body.Get(2)->kind_as_Loop();
  ASSERT_NE(loop, nullptr);
  const auto *send = loop->body()->Get(0)->kind_as_Instruction();
  EXPECT_EQ(send->guard(), 2);
  EXPECT_EQ(send->thread(), 1);
  EXPECT_EQ(send->a()->offset()->terms()->Get(0)->kind(),
            program::TermKind::Loop);
  EXPECT_EQ(body.Get(3)->kind_as_Await()->threads(), 2);
}

TEST_F(EmitTest, WritesConstants) {
  ASSERT_TRUE(emit(kAdd)) << messages;
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  const program::Tensor &constant = *loaded->program().tensors()->Get(3);
  ASSERT_EQ(constant.data()->size(), 16u);
  EXPECT_EQ(constant.data()->Get(0), 1);
  EXPECT_EQ(constant.data()->Get(8), 0xfe);
  EXPECT_EQ(constant.data()->Get(15), 0xff);
}

TEST_F(EmitTest, RefersToWeightsInPlace) {
  options.outputPath = (folder / "out" / "program.wafer").string();
  std::filesystem::create_directories(folder / "out");
  ASSERT_TRUE(emit(kAdd)) << messages;
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  const program::File &file = *loaded->program().files()->Get(0);
  EXPECT_EQ(file.path()->str(), "../w.bin");
  EXPECT_EQ(file.size(), weights.size());
  EXPECT_EQ(file.digest(), runtime::fileDigest(weights.data(), weights.size()));
  EXPECT_EQ(loaded->program().tensors()->Get(1)->offset(), 16u);
}

TEST_F(EmitTest, SameInputSameBytes) {
  ASSERT_TRUE(emit(kAdd)) << messages;
  std::string first = bytesOf(options.outputPath);
  ASSERT_TRUE(emit(kAdd)) << messages;
  EXPECT_EQ(first, bytesOf(options.outputPath));
}

TEST_F(EmitTest, BundlesWeights) {
  options.bundle = true;
  ASSERT_TRUE(emit(kAdd)) << messages;
  std::filesystem::remove(folder / "w.bin");
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  const program::File &file = *loaded->program().files()->Get(0);
  EXPECT_TRUE(!file.path() || file.path()->size() == 0);
  ASSERT_EQ(loaded->bundleBytes(), 32u);
  std::string bundled(reinterpret_cast<const char *>(loaded->bundle()), 32);
  EXPECT_EQ(bundled, weights.substr(16, 32));
  EXPECT_EQ(file.digest(), runtime::fileDigest(bundled.data(), 32));
}

TEST_F(EmitTest, MissingWeights) {
  std::filesystem::remove(folder / "w.bin");
  EXPECT_FALSE(emit(kAdd));
  EXPECT_TRUE(reported("cannot read")) << messages;
  EXPECT_FALSE(std::filesystem::exists(options.outputPath));
  options.allowAbsentWeights = true;
  EXPECT_TRUE(emit(kAdd)) << messages;
  options.bundle = true;
  EXPECT_FALSE(emit(kAdd));
  EXPECT_TRUE(reported("cannot bundle")) << messages;
}

TEST_F(EmitTest, ShortWeights) {
  writeWeights(40);
  EXPECT_FALSE(emit(kAdd));
  EXPECT_TRUE(reported("bytes 16 to 48")) << messages;
  EXPECT_TRUE(reported("has only 40")) << messages;
}

TEST_F(EmitTest, SramOverflowNamesTheNode) {
  EXPECT_FALSE(emit(replaced(kAdd, "8192, 16 bytes", "8192, 40964 bytes")));
  EXPECT_TRUE(reported("SramOverflow: takes 49156 bytes")) << messages;
  EXPECT_TRUE(reported("wse2 has 49152")) << messages;
  EXPECT_TRUE(reported("@v takes 40964 bytes at 8192 for node '/Add'"))
      << messages;
}

TEST_F(EmitTest, CodeOverlapsBuffers) {
  EXPECT_FALSE(emit(replaced(kAdd, "at 8192", "at 4192")));
  EXPECT_TRUE(reported("buffer @v starts at 4192")) << messages;
}

TEST_F(EmitTest, NothingTheLoaderRefuses) {
  EXPECT_FALSE(emit(replaced(kAdd, "mov fabric(2)", "mov fabric(23)")));
  EXPECT_TRUE(reported("cannot run: BadProgram")) << messages;
  EXPECT_TRUE(reported("usable colors")) << messages;
}

TEST_F(EmitTest, NumbersFitTheSchema) {
  EXPECT_FALSE(emit(replaced(kAdd, "route 0 [0:1", "route 256 [0:1")));
  EXPECT_TRUE(reported("color 256 does not fit in 8 bits")) << messages;
}

TEST_F(EmitTest, WrongMachine) {
  EXPECT_FALSE(emit(replaced(kAdd, "\"wse2\"", "\"wse9\"")));
  EXPECT_TRUE(reported("machine")) << messages;
}

TEST_F(EmitTest, NoProgram) {
  EXPECT_FALSE(emit("module {}"));
  EXPECT_TRUE(reported("expected one pe.program to emit, found 0")) << messages;
}

TEST_F(EmitTest, FullDisk) {
  ASSERT_TRUE(std::filesystem::exists("/dev/full"));
  options.outputPath = "/dev/full";
  EXPECT_FALSE(emit(kAdd));
  EXPECT_TRUE(reported("cannot write '/dev/full'")) << messages;
}

TEST_F(EmitTest, FailureKeepsTheOldFile) {
  std::ofstream(options.outputPath) << "old";
  std::filesystem::remove(folder / "w.bin");
  EXPECT_FALSE(emit(kAdd));
  EXPECT_EQ(bytesOf(options.outputPath), "old");
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    EXPECT_NE(entry.path().extension(), ".part");
}

TEST_F(EmitTest, NoFolder) {
  options.outputPath = (folder / "absent" / "program.wafer").string();
  EXPECT_FALSE(emit(kAdd));
  EXPECT_TRUE(reported("cannot write")) << messages;
}

} // namespace
