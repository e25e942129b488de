// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/PersistentState.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace wsec::runtime {

// ---------------------------------------------------------------- UnitSet

void UnitSet::insert(size_t from, size_t to) {
  for (size_t at = from; at < to;) {
    const size_t bitCount = std::min(to - at, 64 - at % 64);
    const uint64_t ones =
        bitCount == 64 ? ~uint64_t(0) : (uint64_t(1) << bitCount) - 1;
    bits[at / 64] |= ones << at % 64;
    at += bitCount;
  }
}

UnitSet UnitSet::operator&(const UnitSet &other) const {
  UnitSet result = *this;
  for (size_t i = 0; i < bits.size(); ++i)
    result.bits[i] &= other.bits[i];
  return result;
}

UnitSet UnitSet::operator-(const UnitSet &other) const {
  UnitSet result = *this;
  for (size_t i = 0; i < bits.size(); ++i)
    result.bits[i] &= ~other.bits[i];
  return result;
}

size_t UnitSet::next(size_t from, size_t to, bool isIn) const {
  while (from < to) {
    const uint64_t group = isIn ? bits[from / 64] : ~bits[from / 64];
    if (const uint64_t rest = group >> from % 64)
      return std::min(to, from + size_t(std::countr_zero(rest)));
    from = (from / 64 + 1) * 64;
  }
  return to;
}

// ---------------------------------------------------------------- the state

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

PersistentState::~PersistentState() {
  if (keeper)
    keeper->forget();
}

PersistentState::PersistentState(const PersistentState &other)
    : layout(other.layout), held(other.pes()) {}

PersistentState &PersistentState::operator=(const PersistentState &other) {
  clear();
  layout = other.layout;
  held = other.pes();
  return *this;
}

bool PersistentState::any() const {
  return std::any_of(layout.begin(), layout.end(),
                     [](const Layout &its) { return its.bytes > 0; });
}

PersistentState::Held &PersistentState::at(int pe, int peClass) {
  release();
  Held &its = held[pe];
  if (its.bytes.empty()) {
    its.bytes.resize(size_t(bytes(peClass)));
    its.written = UnitSet(its.bytes.size() / 2);
  }
  return its;
}

void PersistentState::write(int pe, int peClass, int64_t offset,
                            const void *from) {
  Held &its = at(pe, peClass);
  std::memcpy(&its.bytes[size_t(offset)], from, 2);
  its.written.insert(size_t(offset / 2), size_t(offset / 2 + 1));
}

void PersistentState::clear() {
  if (keeper)
    std::exchange(keeper, nullptr)->forget();
  isStale = false;
  held.clear();
  earlier.reset();
}

PersistentState::Written PersistentState::written() const {
  Written result;
  for (const auto &[pe, its] : held)
    result.emplace_hint(result.end(), pe, its.written);
  return result;
}

bool PersistentState::isWritten(const Written &where) const {
  return std::equal(held.begin(), held.end(), where.begin(), where.end(),
                    [](const auto &a, const auto &b) {
                      return a.first == b.first && a.second.written == b.second;
                    });
}

// ---------------------------------------------------------------- changes

void PersistentState::bring() const {
  keeper->bring(held);
  isStale = false;
}

void PersistentState::release() {
  fetch();
  if (keeper)
    std::exchange(keeper, nullptr)->forget();
}

void PersistentState::change() {
  release();
  earlier.emplace().values = held;
}

void PersistentState::keep(Keeper &engine, Written written) {
  if (keeper && keeper != &engine)
    release();
  earlier = Earlier{std::nullopt, this->written(), keeper, isStale};
  for (auto &[pe, its] : written) {
    Held &at = held[pe];
    at.bytes.resize(2 * its.size());
    at.written = std::move(its);
  }
  keeper = &engine;
  isStale = true;
}

void PersistentState::undo() {
  if (!earlier)
    return;
  Earlier its = std::move(*std::exchange(earlier, std::nullopt));
  if (its.values) {
    held = std::move(*its.values);
    return;
  }
  if (its.keeper)
    keeper->undo();
  else if (keeper)
    keeper->forget();
  keeper = its.keeper;
  isStale = its.isStale;
  std::erase_if(held, [&](const auto &entry) {
    return !its.written.contains(entry.first);
  });
  for (auto &[pe, written] : its.written)
    held[pe].written = std::move(written);
}

} // namespace wsec::runtime
