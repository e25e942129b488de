// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/PersistentState.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime {

PersistentState::PersistentState(const program::Program &program) {
  for (const program::PEClass *peClass : *program.classes()) {
    Layout &its = layout.emplace_back();
    if (!peClass->buffers())
      continue;
    for (const program::Buffer *buffer : *peClass->buffers()) {
      if (!buffer->persistent())
        continue;
      const int64_t bytes = buffer->bytes() / 2 * 2;
      its.pieces.push_back({buffer->address(), bytes, its.bytes});
      its.bytes += bytes;
    }
  }
}

bool PersistentState::any() const {
  return std::any_of(layout.begin(), layout.end(),
                     [](const Layout &its) { return its.bytes > 0; });
}

size_t PersistentState::heldBytes() const {
  size_t sum = 0;
  for (const auto &[pe, its] : held)
    sum += its.bytes.size() + its.written.size() / 8;
  return sum;
}

PersistentState::Held &PersistentState::at(int pe, int peClass) {
  Held &its = held[pe];
  if (its.bytes.empty()) {
    its.bytes.resize(size_t(bytes(peClass)));
    its.written.resize(its.bytes.size() / 2);
  }
  return its;
}

void PersistentState::write(int pe, int peClass, int64_t offset,
                            const void *from) {
  Held &its = at(pe, peClass);
  std::memcpy(&its.bytes[size_t(offset)], from, 2);
  its.written[size_t(offset / 2)] = true;
}

bool PersistentState::sameWritten(const PersistentState &other) const {
  return std::equal(held.begin(), held.end(), other.held.begin(),
                    other.held.end(), [](const auto &a, const auto &b) {
                      return a.first == b.first &&
                             a.second.written == b.second.written;
                    });
}

} // namespace wsec::runtime
