// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hand-written program goes through emit and comes back through the loader.

#include "compiler/emit/Emit.h"
#include "dialects/pe/Pe.h"
#include "runtime/files/Digest.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>

using namespace mlir;
using namespace wsec;

namespace {

/// y = x + w, four elements in each of two PEs.
constexpr const char *kAdd = R"(
pe.program @add mesh [2, 1] machine "wse2" launch_color 0 model "add.onnx" {
  tensor input @x : tensor<8xf32>
  tensor weight @w from <"w.bin" at 16> : tensor<8xf32>
  tensor output @y : tensor<8xf32>
  tensor constant @c = dense<[1, -2]> : tensor<2xi64> : tensor<2xi64>

  route 0 [0:1, 0:1] from west to [east, ramp]
  route 0 [1:2, 0:1] from west to [ramp]
  route 1 [0:1, 0:1] from west to [east, ramp]
  route 1 [1:2, 0:1] from west to [ramp]
  route 2 [0:1, 0:1] from ramp to [east]
  route 2 [1:2, 0:1] from west to [east]

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
        vector mov fabric(2) = @v[%i, strides = [1]] over (1) where %west thread 1
      }
      await [1]
    }
  }
  stream in @operands color 1 channels [0 -> 0:2] {
    %px = scalar px
    segment @x[%px * 4, strides = [1]] over (4)
    segment @w[%px * 4, strides = [1]] over (4)
  }
  kernel @Add kind "elementwise" nodes ["/Add"] region [0:2, 0:1]
      cycles 20.0 of 8.0 bound "stream"
  launch @add for @Add streams [@operands]
}
)";

/// What only programs launched by remote calls have.
constexpr const char *kRemote = R"(
pe.program @remote mesh [4, 1] machine "wse3" {
  tensor input @x : tensor<4x8xf16>
  tensor output @y : tensor<8x4xf16>
  route 1 [0:4, 0:1] from west to [ramp] switch [from ramp, to [east]] ring pop on_advance initial 2
  class @row [0:4, 0:1] {
    %px = scalar px
    buffer @h 16 bytes of f16
    buffer @fixed at 16384, 4 bytes of i16
    buffer @n 8 bytes of i32
    queue output 3 color 1
    filter 2 counter %px to 3 limit 7
    task @first local 8 {
    }
    task @receive data 2 blocked word @n index @fixed {
      activate @first
    }
    routine @main {
      vector mov fabric(1, f16, index = %px * 8) = @h[0, strides = [1]] over (8) thread 2 then activate @first unblock @receive advance
      vector mov @h[0, strides = [1]] = fabric(2, f16, pair) over (8) on_control end
      control fabric(1) [advance, teardown] task 5 data %px
      %n = load @n[0]
      for %i < 2 {
        %k = compute mul(%n + %i, 3)
        if %k {
          store @n[1] = %k * 2 + %n
        } else {
          block @receive
        }
      }
      clock @n[0]
      set_route 1 from ramp to [east]
    }
  }
  copy in @x to @h [0:4, 0:1]
  launch @main
  launch @main
  copy out @y from @h [0:4, 0:1] order column
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
    options.weightFolders.add(folder.string());
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
  EXPECT_EQ(program.entries()->Get(0)->launches()->Get(0)->streams()->Get(0),
            0u);
  EXPECT_EQ(program.kernels()->Get(0)->onnx_nodes()->Get(0)->str(), "/Add");
}

TEST_F(EmitTest, WritesRoutersAndCopies) {
  ASSERT_TRUE(emit(kRemote)) << messages;
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  const program::Program &program = loaded->program();
  EXPECT_EQ(program.launch_color(), 255);
  EXPECT_EQ(program.machine()->turn_cycles(), 33);
  EXPECT_EQ(program.machine()->output_queue_words()->Get(7), 8);
  const program::RouteRule &rule = *program.routes()->Get(0);
  ASSERT_EQ(rule.positions()->size(), 2u);
  EXPECT_EQ(rule.positions()->Get(0)->receive(), int(program::Port::Ramp));
  EXPECT_EQ(rule.positions()->Get(0)->transmit(), 0);
  EXPECT_EQ(rule.positions()->Get(1)->receive(), -1);
  EXPECT_EQ(rule.positions()->Get(1)->transmit(),
            1 << int(program::Port::East));
  EXPECT_EQ(rule.initial(), 2);
  EXPECT_TRUE(rule.ring());
  EXPECT_EQ(rule.pop(), program::PopMode::OnAdvance);
  ASSERT_EQ(program.entries()->Get(0)->copies()->size(), 2u);
  const program::HostCopy &in = *program.entries()->Get(0)->copies()->Get(0);
  EXPECT_EQ(in.direction(), program::Direction::In);
  EXPECT_EQ(in.buffer()->str(), "h");
  EXPECT_EQ(in.elements(), 8u);
  EXPECT_EQ(in.launch(), 0u);
  const program::HostCopy &out = *program.entries()->Get(0)->copies()->Get(1);
  EXPECT_EQ(out.order(), program::CopyOrder::Column);
  EXPECT_EQ(out.launch(), 2u);
  // Launches without a kernel are reported under their routine.
  ASSERT_EQ(program.kernels()->size(), 1u);
  EXPECT_EQ(program.kernels()->Get(0)->name()->str(), "main");
  EXPECT_EQ(program.kernels()->Get(0)->region()->x1(), 4);
}

TEST_F(EmitTest, WhatIsUndecidedIsWrittenWithAWarning) {
  // Words leave the mesh that no stream takes.
  const std::string what = "it is undecided whether it can deadlock: routine 0 "
                           "(elementwise of '/Add'): ";
  const std::string remedy = "; runs on engines without finite queues begin "
                             "with a check of all its words";
  ASSERT_TRUE(emit(kAdd)) << messages;
  EXPECT_TRUE(reported(what)) << messages;
  EXPECT_FALSE(reported(remedy));
  options.isCompiled = true;
  ASSERT_TRUE(emit(kAdd)) << messages;
  EXPECT_TRUE(reported(what)) << messages;
  EXPECT_TRUE(reported(remedy)) << messages;
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  EXPECT_EQ(loaded->program().proof()->verdict(), program::Verdict::Undecided);
}

TEST_F(EmitTest, WhatTheCompilerWroteMustNotDeadlock) {
  // It waits for words that it sends later.
  const char *late = R"(
pe.program @late mesh [1, 1] machine "wse2" launch_color 0 {
  route 0 [0:1, 0:1] from west to [ramp]
  route 1 [0:1, 0:1] from ramp to [ramp]
  class @pe [0:1, 0:1] {
    buffer @v at 8192, 32 bytes of f32
    routine @main {
      vector mov @v[0, strides = [1]] = fabric(1) over (8)
      vector mov fabric(1) = @v[0, strides = [1]] over (8) thread 0
      await [0]
    }
  }
  kernel @k kind "test" nodes [] region [0:1, 0:1] cycles 1.0 of 1.0 bound "stream"
  launch @main for @k
}
)";
  EXPECT_TRUE(emit(late)) << messages;
  options.isCompiled = true;
  std::filesystem::remove(options.outputPath);
  EXPECT_FALSE(emit(late));
  EXPECT_TRUE(
      reported("'pe.program' op every run ends in a deadlock: PEs x 0, "
               "y 0 (class 'pe'), where statement 0 of routine 0 waits"))
      << messages;
  EXPECT_TRUE(reported("another --mesh, --region or --mode may do"))
      << messages;
  EXPECT_FALSE(std::filesystem::exists(options.outputPath));
}

TEST_F(EmitTest, WritesClassMembers) {
  ASSERT_TRUE(emit(kRemote)) << messages;
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  const program::PEClass &row = *loaded->program().classes()->Get(0);
  EXPECT_EQ(row.code_bytes(), runtime::codeBytes(row));
  // Open addresses lie behind the code and the buffer that has one.
  EXPECT_EQ(row.buffers()->Get(1)->address(), 16384u);
  EXPECT_EQ(row.buffers()->Get(0)->address(), 16400u);
  EXPECT_EQ(row.buffers()->Get(2)->address(), 16416u);
  EXPECT_EQ(row.buffers()->Get(1)->type(), program::ElementType::I16);
  EXPECT_TRUE(row.queues()->Get(0)->output());
  EXPECT_EQ(row.queues()->Get(0)->queue(), 3);
  EXPECT_EQ(row.filters()->Get(0)->kind(), program::FilterKind::Counter);
  EXPECT_EQ(row.filters()->Get(0)->limit()->constant(), 7);
  const program::Task &receive = *row.tasks()->Get(1);
  EXPECT_EQ(receive.name()->str(), "receive");
  EXPECT_EQ(receive.kind(), program::TaskKind::Data);
  EXPECT_EQ(receive.id(), 2);
  EXPECT_TRUE(receive.blocked());
  EXPECT_EQ(receive.word_buffer(), 2);
  EXPECT_EQ(receive.index_buffer(), 1);
  EXPECT_EQ(receive.body()->Get(0)->kind_as_SetTask()->task(), 0);
}

TEST_F(EmitTest, WritesScalarCode) {
  ASSERT_TRUE(emit(kRemote)) << messages;
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  const auto &body =
      *loaded->program().classes()->Get(0)->routines()->Get(0)->body();
  const auto *send = body.Get(0)->kind_as_Instruction();
  EXPECT_EQ(send->dst()->type(), program::ElementType::F16);
  EXPECT_EQ(send->dst()->index()->terms()->Get(0)->scale(), 8);
  EXPECT_EQ(send->activate(), 0);
  EXPECT_EQ(send->unblock(), 1);
  EXPECT_TRUE(send->advance_switch());
  const auto *receive = body.Get(1)->kind_as_Instruction();
  EXPECT_EQ(receive->a()->packing(), program::Packing::Pair);
  EXPECT_EQ(receive->on_control(), program::OnControl::End);
  const auto *control = body.Get(2)->kind_as_SendControl();
  EXPECT_EQ(control->commands()->Get(1), program::SwitchCommand::Teardown);
  EXPECT_EQ(control->task(), 5);
  EXPECT_EQ(body.Get(3)->kind_as_Load()->local(), 0);
  const auto &inner = *body.Get(4)->kind_as_Loop()->body();
  const auto *compute = inner.Get(0)->kind_as_Compute();
  EXPECT_EQ(compute->op(), program::ScalarOp::Mul);
  EXPECT_EQ(compute->local(), 1);
  EXPECT_EQ(compute->a()->terms()->Get(0)->kind(), program::TermKind::Local);
  EXPECT_EQ(compute->a()->terms()->Get(1)->kind(), program::TermKind::Loop);
  EXPECT_EQ(compute->b()->constant(), 3);
  const auto *branch = inner.Get(1)->kind_as_If();
  EXPECT_EQ(branch->condition()->terms()->Get(0)->index(), 1);
  EXPECT_EQ(branch->then()->Get(0)->kind_as_Store()->offset()->constant(), 1);
  EXPECT_EQ(branch->otherwise()->Get(0)->kind_as_SetTask()->action(),
            program::TaskAction::Block);
  EXPECT_EQ(body.Get(5)->kind_as_ReadClock()->buffer(), 2);
  EXPECT_EQ(body.Get(6)->kind_as_SetRoute()->receive(), program::Port::Ramp);
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
  EXPECT_EQ(file.path()->str(), "w.bin") << "found with --weights only";
  EXPECT_EQ(file.size(), weights.size());
  EXPECT_EQ(file.digest(), runtime::digestOf(weights.data(), weights.size()));
  EXPECT_EQ(loaded->program().tensors()->Get(1)->offset(), 16u);
}

TEST_F(EmitTest, FindsWeightsBelowTheProgram) {
  std::filesystem::create_directories(folder / "data");
  std::filesystem::rename(folder / "w.bin", folder / "data" / "w.bin");
  options.weightFolders.add((folder / "data").string());
  ASSERT_TRUE(emit(kAdd)) << messages;
  auto loaded = runtime::LoadedProgram::open(options.outputPath);
  EXPECT_EQ(loaded->program().files()->Get(0)->path()->str(), "data/w.bin");
}

TEST_F(EmitTest, WeightsOutOfReach) {
  EXPECT_FALSE(emit(replaced(kAdd, "\"w.bin\"", "\"/etc/passwd\"")));
  EXPECT_TRUE(reported("'/etc/passwd' leads out of the folder")) << messages;
  EXPECT_FALSE(emit(replaced(kAdd, "\"w.bin\"", "\"../w.bin\"")));
  EXPECT_TRUE(reported("'../w.bin' leads out of the folder")) << messages;
  std::filesystem::remove(folder / "w.bin");
  ASSERT_EQ(::mkfifo((folder / "w.bin").c_str(), 0600), 0);
  EXPECT_FALSE(emit(kAdd));
  EXPECT_TRUE(reported("w.bin': not a regular file")) << messages;
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
  EXPECT_EQ(file.digest(), runtime::digestOf(bundled.data(), 32));
}

TEST_F(EmitTest, MissingWeights) {
  std::filesystem::remove(folder / "w.bin");
  EXPECT_FALSE(emit(kAdd));
  EXPECT_TRUE(reported("weights: there is no 'w.bin' in '" + folder.string() +
                       "'; name the folder that has it with --weights=DIR"))
      << messages;
  EXPECT_FALSE(std::filesystem::exists(options.outputPath));
  options.allowAbsentWeights = true;
  EXPECT_TRUE(emit(kAdd)) << messages;
  writeWeights(48);
  EXPECT_TRUE(emit(kAdd)) << messages;
  EXPECT_EQ(runtime::LoadedProgram::open(options.outputPath)
                ->program()
                .files()
                ->Get(0)
                ->digest(),
            0u)
      << "not read, though there";
  std::filesystem::remove(folder / "w.bin");
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
