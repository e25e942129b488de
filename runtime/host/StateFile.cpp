// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/StateFile.h"

#include "absl/strings/str_cat.h"
#include "runtime/files/Digest.h"
#include "runtime/files/InputFile.h"
#include "runtime/files/NewFile.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace wsec::runtime {

namespace {

constexpr std::array<uint8_t, 8> magic = {'W', 'S', 'T', 'A', 'T', 'E', 1, 0};

void append(std::vector<uint8_t> &bytes, uint64_t number, int size) {
  for (int i = 0; i < size; ++i)
    bytes.push_back(uint8_t(number >> (8 * i)));
}

/// Reads a file from the front; refuses what is cut off.
class Reader {
public:
  Reader(const std::vector<uint8_t> &bytes, const std::string &path)
      : bytes(bytes), path(path) {}

  const uint8_t *take(uint64_t count) {
    if (count > bytes.size() - at)
      fail("is damaged: it is cut off");
    const uint8_t *data = bytes.data() + at;
    at += count;
    return data;
  }
  uint64_t number(int size) {
    const uint8_t *data = take(uint64_t(size));
    uint64_t value = 0;
    for (int i = size; i-- > 0;)
      value = value << 8 | data[i];
    return value;
  }
  uint64_t left() const { return bytes.size() - at; }
  [[noreturn]] void fail(const std::string &what) const {
    throw Error(ErrorClass::BadState, inQuotes(path) + " " + what);
  }

private:
  const std::vector<uint8_t> &bytes;
  const std::string &path;
  uint64_t at = 0;
};

/// The class that a PE belongs to; -1: none.
int classOf(const program::Program &program, int64_t x, int64_t y) {
  for (unsigned c = 0; c < program.classes()->size(); ++c)
    for (const program::Rect *rect : *program.classes()->Get(c)->rects())
      if (x >= rect->x0() && x < rect->x1() && y >= rect->y0() &&
          y < rect->y1() && (x - rect->x0()) % rect->xstep() == 0 &&
          (y - rect->y0()) % rect->ystep() == 0)
        return int(c);
  return -1;
}

void readPe(Reader &reader, const program::Program &program,
            PersistentState &state) {
  const program::Machine &machine = *program.machine();
  const auto pe = int64_t(reader.number(4));
  const uint64_t size = reader.number(4);
  const int peClass =
      pe < int64_t(machine.width()) * machine.height()
          ? classOf(program, pe % machine.width(), pe / machine.width())
          : -1;
  if (peClass < 0 || int64_t(size) != state.bytes(peClass) || size == 0 ||
      state.of(int(pe)))
    reader.fail(absl::StrCat("is damaged: it has ", size, " bytes of PE ", pe));
  PersistentState::Held &held = state.at(int(pe), peClass);
  std::memcpy(held.bytes.data(), reader.take(size), size);
  const uint8_t *bits = reader.take((size / 2 + 7) / 8);
  for (size_t unit = 0; unit < size / 2; ++unit)
    if (bits[unit / 8] >> (unit % 8) & 1)
      held.written.insert(unit, unit + 1);
}

} // namespace

void writeState(const std::string &path, const PersistentState &state,
                const LoadedProgram &program) {
  NewFile file(path);
  StreamedDigest digest;
  std::vector<uint8_t> bytes(magic.begin(), magic.end());
  auto flush = [&] {
    digest.add(bytes.data(), bytes.size());
    file.write(bytes.data(), bytes.size());
    bytes.clear();
  };
  append(bytes, program.digest(), 8);
  append(bytes, state.pes().size(), 8);
  for (const auto &[pe, held] : state.pes()) {
    append(bytes, uint64_t(pe), 4);
    append(bytes, held.bytes.size(), 4);
    bytes.insert(bytes.end(), held.bytes.begin(), held.bytes.end());
    const size_t first = bytes.size();
    bytes.resize(first + (held.written.size() + 7) / 8);
    for (size_t unit = 0; unit < held.written.size(); ++unit)
      if (held.written[unit])
        bytes[first + unit / 8] |= uint8_t(1 << (unit % 8));
    flush();
  }
  flush();
  append(bytes, digest.value(), 8);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void requireOwnState(const std::string &what, uint64_t digest,
                     const LoadedProgram &program) {
  if (digest != program.digest())
    throw Error(
        ErrorClass::BadState,
        absl::StrCat(what, " is the state of another program, of digest ",
                     absl::Hex(digest, absl::kZeroPad16), "; this one has ",
                     absl::Hex(program.digest(), absl::kZeroPad16)));
}

PersistentState readState(const std::string &path,
                          const LoadedProgram &program) {
  const std::vector<uint8_t> bytes = readFile(path);
  Reader reader(bytes, path);
  constexpr size_t most = 8;
  if (bytes.size() < magic.size() ||
      !std::equal(magic.begin(), magic.begin() + 6, bytes.begin()))
    reader.fail("is no state of a program: --save-state writes one");
  reader.take(magic.size());
  if (!std::equal(magic.begin(), magic.end(), bytes.begin()))
    reader.fail(absl::StrCat("has version ", int(bytes[6]), ".", int(bytes[7]),
                             " of the format, expected ", int(magic[6]), ".",
                             int(magic[7])));
  uint64_t sum = 0;
  if (bytes.size() >= magic.size() + most)
    for (size_t i = most; i-- > 0;)
      sum = sum << 8 | bytes[bytes.size() - most + i];
  if (bytes.size() < magic.size() + 3 * most ||
      digestOf(bytes.data(), bytes.size() - most) != sum)
    reader.fail("is damaged: its digest is another; save the state again");
  requireOwnState(inQuotes(path), reader.number(8), program);
  PersistentState state(program.program());
  const uint64_t count = reader.number(8);
  for (uint64_t i = 0; i < count; ++i)
    readPe(reader, program.program(), state);
  if (reader.left() != most)
    reader.fail("is damaged: it does not end where it should");
  return state;
}

} // namespace wsec::runtime
