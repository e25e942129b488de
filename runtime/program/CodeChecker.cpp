// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/CodeChecker.h"
#include "runtime/program/Checker.h"
#include "runtime/program/ScalarChecker.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

using program::Instruction;
using program::Opcode;
using program::Operand;
using program::OperandKind;
using Body = flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;

/// Memory operands `op` reads besides its destination.
int sourceCount(Opcode op) {
  if ((op >= Opcode::Add && op <= Opcode::Fmac) ||
      (op >= Opcode::Equal && op <= Opcode::Or) || op == Opcode::Select)
    return 2;
  return 1;
}

/// Checks the routines of one class, whose scalars and buffers are known.
class CodeChecker {
public:
  CodeChecker(const program::PEClass &peClass, const program::Machine &machine,
              const Where &where)
      : peClass(peClass), machine(machine), where(where) {}

  void check();

private:
  void checkBuffers();
  void checkBody(const Body &body, const Where &where);
  void checkLoop(const program::Loop &loop, const Where &where);
  void checkInstruction(const Instruction &instruction, const Where &where);
  void checkOperand(const Operand *operand,
                    const std::vector<Interval> &extents, bool runs,
                    const Where &where);
  void checkMemory(const Operand &operand, const std::vector<Interval> &extents,
                   bool runs, const Where &where);
  void checkFabric(const Operand &operand, size_t rank, const Where &where);
  /// Whether a guarded statement runs in every PE.
  bool checkGuard(int16_t guard, const Where &where);

  const program::PEClass &peClass;
  const program::Machine &machine;
  const Where &where;
  std::vector<Interval> scalars;
  std::vector<Interval> loops;
  /// Whether every enclosing loop runs at least once in every PE.
  bool reached = true;
};

void CodeChecker::check() {
  std::vector<program::Rect> rects;
  for (const program::Rect *rect : *peClass.rects())
    rects.push_back(*rect);
  scalars = checkScalars(peClass.scalars(), rects, where);
  checkBuffers();
  if (!peClass.routines())
    return;
  std::vector<uint32_t> ids;
  for (const program::Routine *routine : *peClass.routines()) {
    Where here{&where, "routine", routine->id()};
    ids.push_back(routine->id());
    checkBody(*routine->body(), here);
  }
  std::sort(ids.begin(), ids.end());
  if (auto twin = std::adjacent_find(ids.begin(), ids.end()); twin != ids.end())
    throw badProgram(where, "has routine " + std::to_string(*twin) + " twice");
}

void CodeChecker::checkBuffers() {
  uint64_t code = codeBytes(peClass);
  if (peClass.code_bytes() < code)
    throw badProgram(where, "states " + std::to_string(peClass.code_bytes()) +
                                " bytes of code, its routines take " +
                                std::to_string(code));
  uint64_t limit = uint64_t(machine.sram_bytes());
  uint64_t used = uint64_t(machine.runtime_bytes()) + peClass.code_bytes();
  if (used > limit)
    throw Error(ErrorClass::SramOverflow,
                where.text() + ": " + std::to_string(peClass.code_bytes()) +
                    " bytes of code and " +
                    std::to_string(machine.runtime_bytes()) +
                    " of the host runtime exceed the " + std::to_string(limit) +
                    " bytes of a PE");
  if (!peClass.buffers())
    return;
  if (peClass.buffers()->size() > UINT16_MAX)
    throw badProgram(where, "has too many buffers");
  for (const program::Buffer *buffer : *peClass.buffers()) {
    Where here{&where, "buffer", -1, buffer->name()};
    if (buffer->type() > program::ElementType::MAX)
      throw badProgram(here, "has an unknown element type");
    uint32_t element = elementBytes(buffer->type());
    if (buffer->address() % std::min(element, 4u) != 0)
      throw badProgram(here, "address " + std::to_string(buffer->address()) +
                                 " is not aligned to its elements");
    if (buffer->address() < used)
      throw badProgram(here, "address " + std::to_string(buffer->address()) +
                                 " lies in the first " + std::to_string(used) +
                                 " bytes, which hold the host runtime and "
                                 "code");
    uint64_t end = uint64_t(buffer->address()) + buffer->bytes();
    if (end <= limit)
      continue;
    std::string owner = buffer->onnx_node() && buffer->onnx_node()->size() > 0
                            ? " (node '" + buffer->onnx_node()->str() + "')"
                            : "";
    throw Error(ErrorClass::SramOverflow,
                here.text() + owner + ": " + std::to_string(buffer->bytes()) +
                    " bytes at address " + std::to_string(buffer->address()) +
                    " end at " + std::to_string(end) + ", a PE has " +
                    std::to_string(limit));
  }
}

bool CodeChecker::checkGuard(int16_t guard, const Where &where) {
  if (guard < 0)
    return true;
  if (size_t(guard) >= scalars.size())
    throw badProgram(where, "guard refers to scalar " + std::to_string(guard) +
                                ", which does not exist");
  Interval value = scalars[size_t(guard)];
  return value.low > 0 || value.high < 0;
}

void CodeChecker::checkBody(const Body &body, const Where &where) {
  int64_t index = 0;
  for (const program::Statement *statement : body) {
    Where here{&where, "statement", index++};
    if (auto *instruction = statement->kind_as_Instruction()) {
      checkInstruction(*instruction, here);
    } else if (auto *loop = statement->kind_as_Loop()) {
      checkLoop(*loop, here);
    } else if (auto *await = statement->kind_as_Await()) {
      if (await->threads() >> machine.microthreads() != 0)
        throw badProgram(here, "awaits a microthread beyond the " +
                                   std::to_string(machine.microthreads()) +
                                   " of a PE");
    } else {
      throw badProgram(here, "is of unknown kind");
    }
  }
}

void CodeChecker::checkLoop(const program::Loop &loop, const Where &where) {
  if (loops.size() >= largestLoopDepth)
    throw badProgram(where, "loops are nested deeper than " +
                                std::to_string(largestLoopDepth));
  bool runs = checkGuard(loop.guard(), where);
  Where count{&where, "count"};
  Interval times = checkAffine(loop.count(), scalars, loops, count);
  bool outer = reached;
  reached = reached && runs && times.low > 0;
  loops.push_back({0, std::max<int64_t>(0, times.high - 1)});
  checkBody(*loop.body(), where);
  loops.pop_back();
  reached = outer;
}

void CodeChecker::checkInstruction(const Instruction &instruction,
                                   const Where &where) {
  if (instruction.op() > Opcode::MAX)
    throw badProgram(where, "has the unknown operation " +
                                std::to_string(int(instruction.op())));
  if (instruction.thread() >= machine.microthreads())
    throw badProgram(
        where, "runs on microthread " + std::to_string(instruction.thread()) +
                   ", a PE has " + std::to_string(machine.microthreads()));
  size_t rank = instruction.extents()->size();
  if (rank < 1 || rank > largestOperandRank)
    throw badProgram(where, "has " + std::to_string(rank) +
                                " extents, expected 1 to " +
                                std::to_string(largestOperandRank));
  bool runs = checkGuard(instruction.guard(), where) && reached;
  std::vector<Interval> extents;
  for (const program::Affine *extent : *instruction.extents()) {
    Where here{&where, "extent", int64_t(extents.size())};
    extents.push_back(checkAffine(extent, scalars, loops, here));
    runs &= extents.back().low > 0;
  }
  OperandKind dst = instruction.dst()->kind();
  if (dst != OperandKind::Memory && dst != OperandKind::Fabric)
    throw badProgram(where, "writes neither memory nor the fabric");
  if (dst == OperandKind::Fabric && instruction.op() == Opcode::Select)
    throw badProgram(where, "selects into the fabric, which keeps no value");
  int sources = sourceCount(instruction.op());
  checkOperand(instruction.dst(), extents, runs, {&where, "destination"});
  checkOperand(instruction.a(), extents, runs, {&where, "first source"});
  if (sources > 1)
    checkOperand(instruction.b(), extents, runs, {&where, "second source"});
  else if (instruction.b() && instruction.b()->kind() != OperandKind::None)
    throw badProgram(where, "has a second source its operation does not take");
}

void CodeChecker::checkOperand(const Operand *operand,
                               const std::vector<Interval> &extents, bool runs,
                               const Where &where) {
  if (!operand)
    throw badProgram(where, "is missing");
  switch (operand->kind()) {
  case OperandKind::Memory:
    return checkMemory(*operand, extents, runs, where);
  case OperandKind::Fabric:
    return checkFabric(*operand, extents.size(), where);
  case OperandKind::Immediate:
    return;
  case OperandKind::None:
    throw badProgram(where, "is missing");
  }
  throw badProgram(where, "is of unknown kind");
}

void CodeChecker::checkMemory(const Operand &operand,
                              const std::vector<Interval> &extents, bool runs,
                              const Where &where) {
  if (!peClass.buffers() || operand.buffer() >= peClass.buffers()->size())
    throw badProgram(where, "refers to buffer " +
                                std::to_string(operand.buffer()) +
                                ", which does not exist");
  size_t strides = operand.strides() ? operand.strides()->size() : 0;
  if (strides != extents.size())
    throw badProgram(where, "has " + std::to_string(strides) + " strides for " +
                                std::to_string(extents.size()) + " extents");
  Interval touched = checkAffine(operand.offset(), scalars, loops, where);
  for (size_t i = 0; i < extents.size(); ++i) {
    // The range of the first and of the last index, whichever way it runs.
    int64_t stride = operand.strides()->Get(flatbuffers::uoffset_t(i));
    auto reach = multiplyIntervals(
        {0, std::max<int64_t>(0, extents[i].high - 1)}, {stride, stride});
    auto sum = reach ? addIntervals(touched, *reach) : std::nullopt;
    if (!sum)
      throw badProgram(where, "may overflow");
    runs &= extents[i].exact();
    touched = *sum;
  }
  const program::Buffer &buffer = *peClass.buffers()->Get(operand.buffer());
  int64_t elements = buffer.bytes() / elementBytes(buffer.type());
  if (touched.inside(0, elements - 1))
    return;
  // Wrong in every PE if the offset is the same everywhere and the statement
  // runs everywhere; otherwise each PE checks when it gets there.
  Interval offset = checkAffine(operand.offset(), scalars, loops, where);
  if (!runs || !offset.exact())
    return;
  throw Error(
      ErrorClass::OutOfBounds,
      where.text() + ": touches elements " + std::to_string(touched.low) +
          ".." + std::to_string(touched.high) + " of buffer '" +
          buffer.name()->str() + "', which has " + std::to_string(elements));
}

void CodeChecker::checkFabric(const Operand &operand, size_t rank,
                              const Where &where) {
  Where colorWhere{&where, "color"};
  Interval color = checkAffine(operand.color(), scalars, {}, colorWhere);
  int usable = machine.colors() - machine.reserved_colors();
  if (!color.inside(0, usable - 1))
    throw badProgram(
        colorWhere, (color.exact() ? std::to_string(color.low)
                                   : "may be " + std::to_string(color.low) +
                                         ".." + std::to_string(color.high)) +
                        ", usable colors are 0.." + std::to_string(usable - 1));
  if (operand.depth() < 1 || operand.depth() > rank)
    throw badProgram(where, "advances over " + std::to_string(operand.depth()) +
                                " of " + std::to_string(rank) + " extents");
  if (operand.window_total())
    checkAffine(operand.window_total(), scalars, loops,
                {&where, "window size"});
  if (operand.window_offset()) {
    Where here{&where, "window offset"};
    checkAffine(operand.window_offset(), scalars, loops, here);
    if (!operand.window_total())
      throw badProgram(here, "is given without a window size");
  }
}

uint64_t operandWords(const Operand *operand) {
  if (!operand || (operand->kind() != OperandKind::Memory &&
                   operand->kind() != OperandKind::Fabric))
    return 0;
  return operand->window_total() ? 3 : 2;
}

uint64_t bodyWords(const Body &body) {
  uint64_t words = 0;
  for (const program::Statement *statement : body) {
    if (auto *instruction = statement->kind_as_Instruction())
      words += 2 + operandWords(instruction->dst()) +
               operandWords(instruction->a()) + operandWords(instruction->b());
    else if (auto *loop = statement->kind_as_Loop())
      words += 3 + bodyWords(*loop->body());
    else
      words += 1;
  }
  return words;
}

} // namespace

void checkCode(const program::PEClass &peClass,
               const program::Machine &machine) {
  Where where{nullptr, "class", -1, peClass.name()};
  CodeChecker(peClass, machine, where).check();
}

uint64_t codeBytes(const program::PEClass &peClass) {
  uint64_t words = peClass.scalars() ? peClass.scalars()->size() : 0;
  if (peClass.routines())
    for (const program::Routine *routine : *peClass.routines())
      words += 2 + bodyWords(*routine->body());
  return 4 * words;
}

} // namespace wsec::runtime
