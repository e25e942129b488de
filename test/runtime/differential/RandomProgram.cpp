// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/differential/RandomProgram.h"

#include "test/runtime/differential/Patterns.h"
#include "tools/wse-inspect/text/PeText.h"

namespace wsec::runtime::test {

std::string RandomProgram::text() const {
  TextOptions options;
  options.machine = source.machine->name;
  return peText(source, options);
}

namespace {

/// Launches carry a number to their routines, which take it off every offset in
/// memory again.
class Carrier {
public:
  explicit Carrier(int number) : number(number) {}

  void run(program::ProgramT &source) {
    program::EntryT &entry = *source.entries[0];
    entry.scalars.push_back({program::ScalarOp::Constant, number, 0, 0});
    for (auto &launch : entry.launches)
      launch->arguments = {0};
    for (auto &peClass : source.classes) {
      for (auto &routine : peClass->routines) {
        routine->arguments = 1;
        run(routine->body);
      }
      // Each takes a word of code, and buffers lie behind it.
      const auto words = uint32_t(peClass->routines.size());
      peClass->code_bytes += 4 * words;
      for (auto &buffer : peClass->buffers)
        buffer->address += (4 * words + 15) & ~15u;
    }
  }

private:
  void run(std::vector<std::unique_ptr<program::StatementT>> &body) {
    for (auto &statement : body) {
      program::StatementKindUnion &kind = statement->kind;
      if (auto *instruction = kind.AsInstruction()) {
        for (auto &extent : instruction->extents)
          shift(extent);
        for (auto *operand : {instruction->dst.get(), instruction->a.get(),
                              instruction->b.get()})
          if (operand)
            run(*operand);
      } else if (auto *loop = kind.AsLoop()) {
        shift(loop->count);
        run(loop->body);
      } else if (auto *branch = kind.AsIf()) {
        shift(branch->condition);
        run(branch->then);
        run(branch->otherwise);
      } else if (auto *compute = kind.AsCompute()) {
        ++compute->local;
        for (auto *operand : {&compute->a, &compute->b, &compute->c})
          shift(*operand);
      } else if (auto *load = kind.AsLoad()) {
        ++load->local;
        offset(load->offset);
      } else if (auto *store = kind.AsStore()) {
        offset(store->offset);
        shift(store->value);
      } else if (auto *control = kind.AsSendControl()) {
        shift(control->data);
      } else if (auto *clock = kind.AsReadClock()) {
        offset(clock->offset);
      }
    }
  }
  void run(program::OperandT &operand) {
    if (operand.kind == program::OperandKind::Memory)
      offset(operand.offset);
    for (auto *affine :
         {&operand.window_offset, &operand.window_total, &operand.index})
      shift(*affine);
  }
  /// The first local is the argument now.
  static void shift(const std::unique_ptr<program::AffineT> &affine) {
    if (!affine)
      return;
    for (program::Term &term : affine->terms)
      if (term.kind() == program::TermKind::Local)
        term = {term.kind(), uint16_t(term.index() + 1), term.scale()};
  }
  void offset(const std::unique_ptr<program::AffineT> &affine) {
    shift(affine);
    affine->constant -= number;
    affine->terms.push_back({program::TermKind::Local, 0, 1});
  }

  const int number;
};

} // namespace

RandomProgram randomProgram(Choices &choices, Break broken,
                            Launching launching) {
  using Make = Emit (*)(Assembly &);
  static constexpr Make makers[] = {
      vectors,     stream,       chain,       exchange,
      merge,       scalarCode,   localTasks,  dataTask,
      controlTask, endAtControl, rangeFilter, counterFilter,
      gather,      distribute,   takeTurns,   teardown};
  // Without tasks, switches and scalar code there are the first five.
  const uint32_t kinds =
      launching == Launching::Commands ? 5 : uint32_t(std::size(makers));
  constexpr size_t most = 12;
  Assembly a(choices, launching, broken);
  struct Pattern {
    size_t section;
    int home; ///< the routine that has it for sure
    Emit emit;
  };
  std::vector<Pattern> patterns;
  for (size_t part = 1; part <= most; ++part) {
    choices.enter(part);
    const int home = choices.between(0, a.routines - 1);
    if (Emit emit = makers[choices.draw(kinds)](a))
      patterns.push_back({part, home, std::move(emit)});
    if (!choices.another())
      break;
  }
  for (int r = 0; r < a.routines; ++r)
    for (const Pattern &pattern : patterns) {
      choices.enter(pattern.section);
      if (pattern.home == r || choices.draw(2))
        pattern.emit(r);
    }
  choices.enter(0);
  RandomProgram program = a.finish();
  if (choices.draw(4) == 3)
    Carrier(choices.between(1, 5)).run(program.source);
  return program;
}

} // namespace wsec::runtime::test
