// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wafer-tamper IN OUT KIND INDEX: writes a copy of a .wafer file with one
// thing changed, so that tests can see that the emulator executes the file.
//
//   route INDEX    rule INDEX receives from the opposite side
//   address INDEX  buffer INDEX of the first class moves by one word
//   length INDEX   vector instruction INDEX has one element less
//   constant INDEX byte INDEX of the constants in the program is inverted
//   weight INDEX   byte INDEX of the bundled weights is inverted
//   rank INDEX     rank INDEX of the proof about deadlock grows by one
//
// Where routes, addresses or lengths change, the proof is left out: the loader
// would refuse what it does not fit, and nothing would run.
// Prints what it changed; exit code 3 when INDEX is past the last one.
#include "runtime/program/Container.h"
#include "runtime/program/program_generated.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace wsec;

namespace {

[[noreturn]] void pastTheLast() { std::exit(3); }

/// Instruction number `index` of a body in order, counting inside loops.
program::InstructionT *
findInstruction(std::vector<std::unique_ptr<program::StatementT>> &body,
                size_t &index) {
  for (auto &statement : body) {
    if (auto *instruction = statement->kind.AsInstruction()) {
      if (index-- == 0)
        return instruction;
    } else if (auto *loop = statement->kind.AsLoop()) {
      if (auto *found = findInstruction(loop->body, index))
        return found;
    }
  }
  return nullptr;
}

void changeRoute(program::ProgramT &program, size_t index) {
  if (index >= program.routes.size())
    pastTheLast();
  auto &rule = *program.routes[index];
  constexpr program::Port opposite[] = {
      program::Port::South, program::Port::North, program::Port::West,
      program::Port::East, program::Port::North};
  rule.receive = opposite[static_cast<size_t>(rule.receive)];
  std::printf("route %zu: color %d receives from %s\n", index, rule.color,
              program::EnumNamePort(rule.receive));
}

void changeAddress(program::ProgramT &program, size_t index) {
  auto &buffers = program.classes.front()->buffers;
  if (index >= buffers.size())
    pastTheLast();
  buffers[index]->address += 4;
  std::printf("buffer %s at %u\n", buffers[index]->name.c_str(),
              buffers[index]->address);
}

void changeLength(program::ProgramT &program, size_t index) {
  for (auto &peClass : program.classes)
    for (auto &routine : peClass->routines)
      if (auto *found = findInstruction(routine->body, index)) {
        found->extents.back()->constant -= 1;
        std::printf("routine %u: a %s of one element less\n", routine->id,
                    program::EnumNameOpcode(found->op));
        return;
      }
  pastTheLast();
}

void changeConstant(program::ProgramT &program, size_t index) {
  for (auto &tensor : program.tensors) {
    if (index < tensor->data.size()) {
      tensor->data[index] ^= 0xff;
      std::printf("constant '%s': byte %zu inverted\n", tensor->name.c_str(),
                  index);
      return;
    }
    index -= tensor->data.size();
  }
  pastTheLast();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: wafer-tamper IN OUT KIND INDEX\n");
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  std::vector<uint8_t> file((std::istreambuf_iterator<char>(in)), {});
  std::string kind = argv[3];
  size_t index = std::strtoull(argv[4], nullptr, 10);
  uint64_t size = 0;
  if (file.size() < runtime::containerHeaderBytes)
    return 1;
  std::memcpy(&size, file.data() + 8, sizeof size);
  uint64_t bundle = runtime::bundleStart(size);
  if (kind == "weight") {
    if (bundle + index >= file.size())
      pastTheLast();
    file[bundle + index] ^= 0xff;
    std::printf("weight byte %zu inverted\n", index);
    std::ofstream(argv[2], std::ios::binary)
        .write(reinterpret_cast<char *>(file.data()), file.size());
    return 0;
  }
  program::ProgramT program;
  program::GetProgram(file.data() + runtime::containerHeaderBytes)
      ->UnPackTo(&program);
  if (kind == "route")
    changeRoute(program, index);
  else if (kind == "address")
    changeAddress(program, index);
  else if (kind == "length")
    changeLength(program, index);
  else if (kind == "constant")
    changeConstant(program, index);
  else
    return 2;
  if (kind == "route" || kind == "address" || kind == "length")
    program.proof.reset();
  flatbuffers::FlatBufferBuilder builder;
  program::FinishProgramBuffer(builder,
                               program::CreateProgram(builder, &program));
  size = builder.GetSize();
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char *>(runtime::containerMagic.data()), 8);
  out.write(reinterpret_cast<const char *>(&size), 8);
  out.write(reinterpret_cast<const char *>(builder.GetBufferPointer()), size);
  std::vector<char> zeros(runtime::bundleStart(size) - 16 - size);
  out.write(zeros.data(), zeros.size());
  if (bundle < file.size())
    out.write(reinterpret_cast<char *>(file.data() + bundle),
              file.size() - bundle);
  return out ? 0 : 1;
}
