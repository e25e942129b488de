// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/facts/PlacedBuffers.h"

#include "runtime/program/Checker.h"

namespace wsec::runtime {

KnownArguments knownArguments(const program::Entry &entry,
                              const program::Launch &launch) {
  KnownArguments known;
  for (unsigned i = 0; launch.arguments() && i < launch.arguments()->size();
       ++i) {
    const program::ScalarNode &node =
        *entry.scalars()->Get(launch.arguments()->Get(i));
    known.push_back(node.op() == program::ScalarOp::Constant
                        ? std::optional<int64_t>(node.a())
                        : std::nullopt);
  }
  return known;
}

/// Calls visit(argument, scale) for each number of a launch in an offset.
template <class Visit>
static void forEachArgument(const program::Affine *offset, size_t arguments,
                            const Visit &visit) {
  for (unsigned t = 0; offset && offset->terms() && t < offset->terms()->size();
       ++t) {
    const program::Term &term = *offset->terms()->Get(t);
    if (term.kind() == program::TermKind::Local && term.index() < arguments)
      visit(term.index(), term.scale());
  }
}

PlacedBuffers::PlacedBuffers(const program::PEClass &peClass)
    : peClass(peClass) {
  if (peClass.routines())
    for (const program::Routine *routine : *peClass.routines())
      if (routine->arguments() > 0)
        findPlaced(routine->body(), routine->arguments());
  if (placed.empty() || !peClass.buffers())
    return;
  for (uint32_t b = 0; b < peClass.buffers()->size(); ++b) {
    const program::Buffer &its = *peClass.buffers()->Get(b);
    if (placed.count(b))
      continue;
    auto [known, isNew] = fixed.try_emplace({its.address(), its.type()}, b);
    if (!isNew && peClass.buffers()->Get(known->second)->bytes() < its.bytes())
      known->second = b;
  }
}

void PlacedBuffers::addPlaced(uint32_t buffer, const program::Affine *offset,
                              uint32_t arguments) {
  forEachArgument(offset, arguments,
                  [&](uint32_t, int64_t) { placed.insert(buffer); });
}

void PlacedBuffers::findPlaced(const Statements *body, uint32_t arguments) {
  for (unsigned s = 0; body && s < body->size(); ++s) {
    const program::Statement *statement = body->Get(s);
    if (const auto *instruction = statement->kind_as_Instruction())
      for (const program::Operand *operand :
           {instruction->dst(), instruction->a(), instruction->b()})
        if (operand && operand->kind() == program::OperandKind::Memory)
          addPlaced(operand->buffer(), operand->offset(), arguments);
    if (const auto *load = statement->kind_as_Load())
      addPlaced(load->buffer(), load->offset(), arguments);
    if (const auto *store = statement->kind_as_Store())
      addPlaced(store->buffer(), store->offset(), arguments);
    if (const auto *loop = statement->kind_as_Loop())
      findPlaced(loop->body(), arguments);
    if (const auto *branch = statement->kind_as_If()) {
      findPlaced(branch->then(), arguments);
      findPlaced(branch->otherwise(), arguments);
    }
  }
}

uint32_t PlacedBuffers::of(uint32_t buffer, const program::Affine *offset,
                           const KnownArguments &arguments) const {
  if (!placed.count(buffer))
    return buffer;
  const program::Buffer &its = *peClass.buffers()->Get(buffer);
  int64_t address = its.address();
  bool isPlaced = false;
  forEachArgument(offset, arguments.size(),
                  [&](uint32_t number, int64_t scale) {
                    if (!arguments[number])
                      return;
                    isPlaced = true;
                    address += *arguments[number] * scale *
                               int64_t(elementBytes(its.type()));
                  });
  if (!isPlaced || address < 0 || address > UINT32_MAX)
    return buffer;
  auto there = fixed.find({uint32_t(address), its.type()});
  return there == fixed.end() ? buffer : there->second;
}

} // namespace wsec::runtime
