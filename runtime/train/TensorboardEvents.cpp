// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/TensorboardEvents.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace wsec::runtime {

// ---------------------------------------------------------------- records

static std::array<uint32_t, 256> castagnoli() {
  std::array<uint32_t, 256> table;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; ++bit)
      table[byte] =
          (table[byte] >> 1) ^ (table[byte] & 1 ? 0x82f63b78U : uint32_t(0));
  }
  return table;
}

/// CRC-32C, rotated, so that one of what holds checksums is another.
static uint32_t maskedChecksum(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = castagnoli();
  uint32_t crc = ~uint32_t(0);
  for (const char byte : bytes)
    crc = table[(crc ^ uint8_t(byte)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/// Little endian, as this file is for hosts that are.
template <typename Number>
static std::string bytesOf(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// ---------------------------------------------------------------- messages

static std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7)
    bytes += char(number | 0x80);
  return bytes + char(number);
}

enum class Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

static std::string field(unsigned number, Wire wire, std::string_view value) {
  std::string bytes = varint(number << 3 | unsigned(wire));
  if (wire == Wire::Bytes)
    bytes += varint(value.size());
  return bytes.append(value);
}

/// With the time of day.
static std::string event(const std::string &rest) {
  const double now = std::chrono::duration<double>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
  return field(1, Wire::Fixed64, bytesOf(now)) + rest;
}

// ---------------------------------------------------------------- the file

TensorboardEvents::~TensorboardEvents() {
  if (file)
    std::fclose(file);
}

void TensorboardEvents::write(const std::string &event) {
  if (!file)
    return;
  const std::string length = bytesOf(uint64_t(event.size()));
  const std::string record =
      absl::StrCat(length, bytesOf(maskedChecksum(length)), event,
                   bytesOf(maskedChecksum(event)));
  if (std::fwrite(record.data(), 1, record.size(), file) != record.size() ||
      std::fflush(file) != 0)
    throw Error(ErrorClass::IoError, "cannot write the events " +
                                         inQuotes(path) + ": " +
                                         std::strerror(errno));
}

void TensorboardEvents::begins(uint64_t step, const Trainer &) {
  if (folder.empty())
    return;
  std::error_code none; // the file tells
  std::filesystem::create_directories(folder, none);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  // Several in a second, of a run that is short.
  for (unsigned number = 0; !file; ++number) {
    path = absl::StrCat(folder, "/events.out.tfevents.", seconds.count(),
                        ".wsec.", getpid(), ".", number);
    file = std::fopen(path.c_str(), "wbx");
    if (!file && errno != EEXIST)
      throw Error(ErrorClass::IoError, "cannot write the events " +
                                           inQuotes(path) + ": " +
                                           std::strerror(errno));
  }
  write(event(field(3, Wire::Bytes, "brain.Event:2")));
  // A session that starts: what is there of this step and later is no more.
  const std::string status = field(1, Wire::Varint, varint(1));
  if (step > 0)
    write(event(absl::StrCat(field(2, Wire::Varint, varint(step + 1)),
                             field(7, Wire::Bytes, status))));
}

void TensorboardEvents::writeNumber(uint64_t step, const std::string &name,
                                    double value) {
  const std::string number =
      absl::StrCat(field(1, Wire::Bytes, name),
                   field(2, Wire::Fixed32, bytesOf(float(value))));
  write(event(
      absl::StrCat(field(2, Wire::Varint, varint(step)),
                   field(5, Wire::Bytes, field(1, Wire::Bytes, number)))));
}

void TensorboardEvents::ended(const TrainingStep &step) {
  const auto add = [&](const char *name, double value) {
    writeNumber(step.step, std::string("train/") + name, value);
  };
  add("loss", step.loss);
  add("lr", step.learningRate);
  if (std::isfinite(step.gradientNorm))
    add("grad_norm", step.gradientNorm);
  if (step.lossScale)
    add("loss_scale", *step.lossScale);
  if (step.density)
    add("density", *step.density);
  add("cycles", step.cycles);
}

void TensorboardEvents::ended(const Evaluation &evaluation) {
  writeNumber(evaluation.step, "eval/loss", evaluation.loss);
  writeNumber(evaluation.step, "eval/cycles", evaluation.cycles);
}

} // namespace wsec::runtime
