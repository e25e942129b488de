// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Code.h"

#include "runtime/program/Errors.h"

#include <algorithm>
#include <set>

namespace wsec::runtime {

using program::OperandKind;

namespace {

/// Reads one class; knows which scalars steer what all PEs of a strip do
/// together.
class Decoder {
public:
  Decoder(const program::Program &program, uint32_t index)
      : program(program), source(*program.classes()->Get(index)) {}

  ClassCode decode() {
    code.source = &source;
    code.name = source.name()->str();
    scalarCount = source.scalars() ? source.scalars()->size() : 0;
    decodeBuffers();
    if (source.routines())
      for (const program::Routine *routine : *source.routines()) {
        routineId = routine->id();
        if (!code.routines.emplace(routineId, decodeBody(*routine->body(), 0))
                 .second)
          fail("has two routines " + std::to_string(routineId));
      }
    code.strictScalars.assign(strict.begin(), strict.end());
    return std::move(code);
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw Error(ErrorClass::BadProgram, "class '" + code.name + "' " + what);
  }

  void decodeBuffers() {
    const program::Machine &machine = *program.machine();
    int64_t start = int64_t(machine.runtime_bytes()) + source.code_bytes();
    int64_t end = start;
    code.firstDataWord = machine.sram_bytes() / 4;
    code.endDataWord = 0;
    if (source.buffers())
      for (const program::Buffer *buffer : *source.buffers()) {
        std::string name = buffer->name()->str();
        if (buffer->type() != program::ElementType::F32)
          fail("buffer '" + name + "': only f32 is emulated");
        if (buffer->address() % 4 || buffer->bytes() % 4)
          fail("buffer '" + name + "' is not aligned to 4 bytes");
        if (buffer->address() < start)
          throw Error(ErrorClass::SramOverflow,
                      "class '" + code.name + "' buffer '" + name +
                          "' at address " + std::to_string(buffer->address()) +
                          " overlaps the runtime and code below " +
                          std::to_string(start));
        BufferCode decoded{name, buffer->address() / 4, buffer->bytes() / 4};
        code.firstDataWord = std::min(code.firstDataWord, decoded.firstWord);
        code.endDataWord =
            std::max(code.endDataWord, decoded.firstWord + decoded.words);
        end = std::max(end, int64_t(buffer->address()) + buffer->bytes());
        code.buffers.push_back(std::move(decoded));
      }
    code.firstDataWord = std::min(code.firstDataWord, code.endDataWord);
    code.highWaterBytes = uint64_t(end);
    if (end > machine.sram_bytes())
      throw Error(ErrorClass::SramOverflow,
                  "class '" + code.name + "' needs " + std::to_string(end) +
                      " bytes of SRAM, a PE has " +
                      std::to_string(machine.sram_bytes()));
  }

  AffineFunction decodeAffine(const program::Affine *affine, int loops) {
    AffineFunction result;
    if (!affine)
      return result;
    result.constant = affine->constant();
    if (affine->terms())
      for (const program::Term *term : *affine->terms()) {
        bool loop = term->kind() == program::TermKind::Loop;
        if (term->index() >= (loop ? size_t(loops) : scalarCount))
          fail(loop ? "refers to a loop that does not enclose the use"
                    : "refers to a scalar it does not have");
        result.terms.push_back({loop, term->index(), term->scale()});
      }
    return result;
  }

  static void collect(const AffineFunction &affine, std::set<uint16_t> &into) {
    for (const AffineTerm &term : affine.terms)
      if (!term.loop)
        into.insert(term.index);
  }

  void checkGuard(int guard) const {
    if (guard >= int(scalarCount))
      fail("has a guard that is no scalar of it");
  }

  OperandCode decodeOperand(const program::Operand *operand, size_t extents,
                            int loops) {
    OperandCode result;
    if (!operand)
      return result;
    result.kind = operand->kind();
    result.immediate = operand->immediate();
    result.offset = decodeAffine(operand->offset(), loops);
    result.color = decodeAffine(operand->color(), loops);
    result.depth = operand->depth();
    result.windowed = operand->window_total() != nullptr;
    result.windowOffset = decodeAffine(operand->window_offset(), loops);
    result.windowTotal = decodeAffine(operand->window_total(), loops);
    result.buffer = operand->buffer();
    if (result.memory()) {
      if (result.buffer >= code.buffers.size())
        fail("has an operand in a buffer it does not have");
      size_t strides = operand->strides() ? operand->strides()->size() : 0;
      if (strides != extents)
        fail("has a memory operand with " + std::to_string(strides) +
             " strides for " + std::to_string(extents) + " extents");
      for (size_t i = 0; i < strides; ++i)
        result.strides[i] = operand->strides()->Get(i);
    }
    if (result.fabric() && (result.depth < 1 || result.depth > int(extents)))
      fail("has a fabric operand of depth " + std::to_string(result.depth) +
           " for " + std::to_string(extents) + " extents");
    return result;
  }

  InstructionCode decodeInstruction(const program::Instruction &from,
                                    int loops) {
    InstructionCode result;
    result.op = from.op();
    result.guard = from.guard();
    result.thread = from.thread();
    result.lineBuffer = from.line_buffer();
    result.index = code.instructions++;
    result.routine = routineId;
    checkGuard(result.guard);
    size_t extents = from.extents()->size();
    if (extents < 1 || extents > maxExtents)
      fail("has an instruction with " + std::to_string(extents) + " extents");
    for (const program::Affine *extent : *from.extents())
      result.extents.push_back(decodeAffine(extent, loops));
    result.dst = decodeOperand(from.dst(), extents, loops);
    result.a = decodeOperand(from.a(), extents, loops);
    result.b = decodeOperand(from.b(), extents, loops);
    checkOperands(result);
    classifyScalars(result);
    return result;
  }

  void checkOperands(const InstructionCode &instruction) const {
    const OperandCode &dst = instruction.dst;
    if (!dst.memory() && !dst.fabric())
      fail("has an instruction without destination");
    if (instruction.a.kind == OperandKind::None)
      fail("has an instruction without source");
    if (dst.fabric() && dst.depth != int(instruction.extents.size()))
      fail("sends with a depth below the number of extents");
    if (dst.fabric() && (instruction.op == program::Opcode::Fmac ||
                         instruction.op == program::Opcode::Select))
      fail("sends the result of an instruction that needs its old value");
    if (dst.windowed)
      fail("has a window on a destination");
    if (instruction.thread >= program.machine()->microthreads() ||
        instruction.thread > 7)
      fail("uses microthread " + std::to_string(instruction.thread));
  }

  /// An asynchronous instruction may differ from PE to PE; of a synchronous
  /// one, only the colors and where a window begins.
  void classifyScalars(InstructionCode &instruction) {
    std::set<uint16_t> loose;
    std::set<uint16_t> &shape = instruction.asynchronous() ? loose : strict;
    for (const AffineFunction &extent : instruction.extents)
      collect(extent, shape);
    if (instruction.guard >= 0)
      shape.insert(uint16_t(instruction.guard));
    for (const OperandCode *operand :
         {&instruction.dst, &instruction.a, &instruction.b}) {
      collect(operand->offset, shape);
      collect(operand->windowTotal, shape);
      collect(operand->color, loose);
      // Strip-wide instructions handle offsets per PE; see FabricSource.
      if (!operand->windowOffset.terms.empty() && instruction.asynchronous())
        collect(operand->windowOffset, loose);
    }
    instruction.looseScalars.assign(loose.begin(), loose.end());
  }

  Body decodeBody(const flatbuffers::Vector<
                      flatbuffers::Offset<program::Statement>> &statements,
                  int loops) {
    code.loopDepth = std::max(code.loopDepth, loops);
    Body body;
    for (const program::Statement *statement : statements) {
      if (const auto *instruction = statement->kind_as_Instruction()) {
        body.push_back(decodeInstruction(*instruction, loops));
      } else if (const auto *loop = statement->kind_as_Loop()) {
        LoopCode decoded;
        decoded.count = decodeAffine(loop->count(), loops);
        decoded.guard = loop->guard();
        checkGuard(decoded.guard);
        collect(decoded.count, strict);
        if (decoded.guard >= 0)
          strict.insert(uint16_t(decoded.guard));
        decoded.body = decodeBody(*loop->body(), loops + 1);
        body.push_back(std::move(decoded));
      } else if (const auto *await = statement->kind_as_Await()) {
        body.push_back(AwaitCode{await->threads()});
      } else {
        fail("has a statement of an unknown kind");
      }
    }
    return body;
  }

  const program::Program &program;
  const program::PEClass &source;
  ClassCode code;
  size_t scalarCount = 0;
  uint32_t routineId = 0;
  std::set<uint16_t> strict;
};

} // namespace

ClassCode decodeClass(const program::Program &program, uint32_t index) {
  return Decoder(program, index).decode();
}

std::string describe(const InstructionCode &instruction) {
  std::string name = program::EnumNameOpcode(instruction.op);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (instruction.asynchronous())
    name += " (microthread " + std::to_string(instruction.thread) + ")";
  return name;
}

} // namespace wsec::runtime
