// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Routines before and after their repeats are loops: both run the same
// statements in the same order, and wait for no fewer microthreads before each.

#include "compiler/kernels/code/RolledCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlir;
using namespace wsec;

namespace {

/// A statement as it runs once: loop variables are numbers, operands addresses.
struct Step {
  std::string text;
  std::vector<const void *> scalars;
  std::set<int64_t> awaited; ///< directly before it

  bool does(const Step &other) const {
    return text == other.text && scalars == other.scalars;
  }
};

class Steps {
public:
  explicit Steps(pe::ClassOp its) : its(its) {
    its.walk([&](pe::RoutineOp routine) {
      run(routine.getBody().front());
      steps.push_back({"end", {}, std::move(awaited)});
    });
  }
  std::vector<Step> steps;

private:
  pe::Affine valueOf(const pe::Affine &affine) const {
    pe::Affine value(affine.constant);
    for (const auto &[term, scale] : affine.terms)
      if (auto known = variables.find(term); known != variables.end())
        value.constant += known->second * scale;
      else
        value.terms.emplace_back(term, scale);
    return value;
  }

  void run(Block &block) {
    for (Operation &op : block) {
      if (auto await = dyn_cast<pe::AwaitOp>(op)) {
        awaited.insert(await.getThreads().begin(), await.getThreads().end());
      } else if (auto loop = dyn_cast<pe::ForOp>(op)) {
        const pe::Affine count =
            valueOf(pe::decode(loop.getCount(), loop.getValues()));
        for (int64_t turn = 0; turn < count.constant; ++turn) {
          variables[loop.getVariable()] = turn;
          run(loop.getBody().front());
        }
      } else if (auto branch = dyn_cast<pe::IfOp>(op)) {
        const pe::Affine condition =
            valueOf(pe::decode(branch.getCondition(), branch.getValues()));
        Region &arm =
            condition.constant ? branch.getThen() : branch.getOtherwise();
        if (!arm.empty())
          run(arm.front());
      } else {
        steps.push_back(stepOf(&op));
      }
    }
  }

  Step stepOf(Operation *op) {
    Operation *once = op->clone();
    visitSlots(once, [&](Slot &slot) {
      slot.value = valueOf(slot.value);
      if (slot.buffer.empty())
        return;
      auto buffer = its.lookupSymbol<pe::BufferOp>(slot.buffer);
      slot.value.constant += int64_t(*buffer.getAddress()) / 4;
      slot.buffer = "sram";
    });
    Step step{"", Statement(once).variant(pe::isClassScalar),
              std::move(awaited)};
    awaited.clear();
    llvm::raw_string_ostream(step.text) << *once;
    once->destroy();
    return step;
  }

  pe::ClassOp its;
  llvm::DenseMap<Value, int64_t> variables;
  std::set<int64_t> awaited;
};

class RolledCode : public ::testing::Test {
protected:
  RolledCode() {
    context.loadDialect<wse::WseDialect, pe::PeDialect, onnx::OnnxDialect>();
  }

  /// The body of a routine with its repeats in loops, which does the same.
  std::string rolled(const std::string &body) {
    auto source = parseSourceString<ModuleOp>(
        "wse.program @p state(scheduled) mesh(1x1) machine(\"wse2\") {\n"
        "  region @r shape(1x1) at (0, 0)\n}",
        &context);
    auto text = parseSourceString<ModuleOp>(
        "pe.program @p mesh [1, 1] machine \"wse2\" {\n"
        "  class @all [0:1, 0:1] {\n"
        "    %x = scalar px\n    %y = scalar py\n"
        "    buffer @a at 8192, 4096 bytes of f32\n"
        "    buffer @b at 12288, 400 bytes of f32\n"
        "    buffer @c at 12688, 400 bytes of f32\n"
        "    routine @main {\n" +
            body + "    }\n  }\n}",
        &context);
    EXPECT_TRUE(source && text) << body;
    if (!source || !text)
      return "";
    auto program = *source->getOps<wse::ProgramOp>().begin();
    OwningOpRef<ModuleOp> made = ModuleOp::create(source->getLoc());
    auto builder = OpBuilder::atBlockEnd(made->getBody());
    ProgramBuilder shared(program, 0, builder);
    ClassSet classes(shared, program);
    ClassBuilder &its = *classes.all()[0];
    Block &to = its.peClass.getBody().front();
    text->walk([&](pe::ClassOp from) {
      to.getOperations().splice(to.end(),
                                from.getBody().front().getOperations());
    });
    const int64_t words = pe::codeBytes(its.peClass);
    const Steps before(its.peClass);
    rollRepeats(program, its);
    EXPECT_TRUE(succeeded(verify(its.peClass)));
    EXPECT_LE(pe::codeBytes(its.peClass), words);
    const Steps after(its.peClass);
    EXPECT_EQ(before.steps.size(), after.steps.size()) << body;
    for (size_t i = 0; i < std::min(before.steps.size(), after.steps.size());
         ++i) {
      EXPECT_TRUE(before.steps[i].does(after.steps[i]))
          << i << ": " << before.steps[i].text << "\n"
          << body;
      for (int64_t thread : before.steps[i].awaited)
        EXPECT_TRUE(after.steps[i].awaited.count(thread)) << i << "\n" << body;
    }
    std::string result;
    llvm::raw_string_ostream stream(result);
    its.peClass.walk([&](pe::RoutineOp routine) { stream << routine; });
    return result;
  }

  static size_t countOf(llvm::StringRef part, llvm::StringRef text) {
    return text.count(part);
  }

  MLIRContext context;
};

std::string mov(const std::string &to, const std::string &over = "4",
                const std::string &behind = "") {
  return "vector mov @" + to + ", strides = [1]] = 0.0 over (" + over + ")" +
         behind + "\n";
}

TEST_F(RolledCode, ManyRepeats) {
  std::string body;
  for (int i = 0; i < 12; ++i)
    body += mov("a[" + std::to_string(9 * i)) +
            mov("b[" + std::to_string(i), "4", " where %x");
  const std::string text = rolled(body);
  EXPECT_EQ(countOf("for ", text), 1u) << text;
  EXPECT_EQ(countOf("< 12", text), 1u) << text;
  EXPECT_EQ(countOf("vector", text), 2u) << text;
}

TEST_F(RolledCode, InnerLoopsWithTheirVariables) {
  std::string body;
  for (int i = 0; i < 3; ++i)
    body += "for %i < 5 {\n" + mov("a[%i * 7 + " + std::to_string(50 * i)) +
            mov("b[%i", "3") + "}\n" + mov("c[" + std::to_string(i));
  const std::string text = rolled(body);
  EXPECT_EQ(countOf("for ", text), 2u) << text;
  EXPECT_EQ(countOf("vector", text), 3u) << text;
}

TEST_F(RolledCode, RepeatsInRepeats) {
  std::string body;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 8; ++j)
      body += mov("a[" + std::to_string(100 * i + 5 * j)) +
              mov("b[" + std::to_string(j), "2", " where %y");
    body += "vector exp @c[0, strides = [1]] = @c[0, strides = [1]] over (9)\n";
  }
  const std::string text = rolled(body);
  EXPECT_EQ(countOf("for ", text), 2u) << text;
  EXPECT_EQ(countOf("vector", text), 3u) << text;
}

TEST_F(RolledCode, TurnsThatDiffer) {
  // In the first, in the last, and in all.
  const char *guards[][3] = {
      {"%x", "%y", "%y"}, {"%y", "%y", "%x"}, {"%x", "%y", ""}};
  for (const auto &guard : guards) {
    std::string body;
    for (int i = 0; i < 3; ++i) {
      const std::string where =
          *guard[i] ? std::string(" where ") + guard[i] : "";
      body += mov("b[0", "3", where) + mov("b[8", "3", where);
      for (const char *opcode : {"exp", "log", "neg", "abs", "sign", "rsqrt"})
        body += std::string("vector ") + opcode + " @a[" + std::to_string(i) +
                ", strides = [1]] = @c[0, strides = [1]] over (2)\n";
    }
    const std::string text = rolled(body);
    EXPECT_EQ(countOf("for ", text), 1u) << text;
    EXPECT_EQ(countOf("if ", text), guard[2][0] ? 1u : 2u) << text;
  }
}

TEST_F(RolledCode, OtherAwaits) {
  std::string body;
  for (int i = 0; i < 2; ++i) {
    body += i > 0 ? "await [1]\n" : "";
    body += mov("a[0", "5", " thread 1");
    body += "for %i < 3 {\n";
    body += i > 0 ? "await [2]\n" : "";
    body += mov("b[%i", "5", " thread 2") + "await [1]\n" + mov("a[%i") +
            mov("a[%i + 30", "3", " where %x") + "}\n";
    body += i > 0 ? "await [2, 1]\n" : "await [1]\n";
    body += mov("c[0", "5");
  }
  const std::string text = rolled(body + "await [2]\n");
  EXPECT_EQ(countOf("for ", text), 2u) << text;
  EXPECT_EQ(countOf("vector", text), 5u) << text;
}

TEST_F(RolledCode, OtherBuffers) {
  std::string body;
  for (const char *buffer : {"b", "c"})
    for (int i : {0, 20, 50})
      body +=
          mov(buffer + std::string("[") + std::to_string(i), "%x", " where %y");
  const std::string text = rolled(body);
  EXPECT_EQ(countOf("for ", text), 2u) << text;
  EXPECT_EQ(countOf("_and_more[", text), 2u) << text;
}

TEST_F(RolledCode, NoLess) {
  EXPECT_EQ(countOf("for ", rolled("store @b[0] = 1\nstore @b[1] = 1\n")), 0u);
  // What a load gives is not what another one gives.
  EXPECT_EQ(countOf("for ", rolled("%i = load @b[0]\n" + mov("a[%i") +
                                   "%j = load @b[0]\n" + mov("a[%j"))),
            0u);
}

TEST_F(RolledCode, RandomRoutines) {
  std::mt19937 random(1);
  auto below = [&](int64_t end) { return int64_t(random() % uint64_t(end)); };
  auto statement = [&](int64_t kind, int64_t number, bool inLoop) {
    const char *guards[] = {"", " where %x", " where %y"};
    const std::string place = std::to_string(number) + (inLoop ? " + %i" : "");
    const std::string at = std::string(kind % 2 ? "b" : "a") + "[" + place;
    const std::string thread =
        kind % 3 == 2 ? " thread " + std::to_string(kind % 5) : "";
    return mov(at, kind % 4 ? "5" : "%x",
               guards[below(8) ? 0 : 1 + below(2)] + thread);
  };
  size_t loops = 0;
  for (int routine = 0; routine < 300; ++routine) {
    std::string body;
    for (int64_t part = 1 + below(3); part > 0; --part) {
      std::vector<int64_t> kinds(size_t(1 + below(4)));
      for (int64_t &kind : kinds)
        kind = below(12);
      const int64_t step = below(4), loopAt = below(6);
      for (int64_t turn = 0, turns = 1 + below(9); turn < turns; ++turn)
        for (size_t i = 0; i < kinds.size(); ++i) {
          const bool inLoop = int64_t(i) == loopAt;
          if (!below(4))
            body += "await [" + std::to_string(below(5)) + "]\n";
          body += inLoop ? "for %i < 3 {\n" : "";
          body += statement(kinds[i], step * turn, inLoop);
          body +=
              inLoop ? statement(kinds[i] + 1, step * turn, true) + "}\n" : "";
        }
    }
    loops += countOf("for %", rolled(body)) > countOf("for %", body);
  }
  EXPECT_GT(loops, 100u);
}

} // namespace
