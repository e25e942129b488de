// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/WireWords.h"

#include "runtime/program/Errors.h"

#include <cstring>

namespace wsec::runtime {

void packWords(const WordView &view, Message &message) {
  message.numbers.insert(message.numbers.end(),
                         {view.rows, view.length, view.halves != nullptr});
  message.bytes.resize(view.words() * sizeof(float));
  for (size_t i = 0; i < view.words(); ++i) {
    const float word = view.word(i);
    std::memcpy(message.bytes.data() + i * sizeof(float), &word, sizeof(float));
  }
  if (view.halves)
    message.bytes.insert(message.bytes.end(), view.halves,
                         view.halves + view.length);
}

WordView unpackWords(const Message &message, size_t at) {
  auto held = std::make_shared<std::vector<uint8_t>>(message.bytes);
  WordView view;
  view.rows = message.numbers[at];
  view.length = view.stride = message.numbers[at + 1];
  view.data = reinterpret_cast<const float *>(held->data());
  if (message.numbers[at + 2])
    view.halves = held->data() + view.words() * sizeof(float);
  view.owner = std::move(held);
  return view;
}

void packError(std::exception_ptr why, Message &message) {
  std::string text;
  uint64_t kind = 0;
  try {
    std::rethrow_exception(why);
  } catch (const Error &error) {
    kind = uint64_t(error.errorClass()) + 1;
    text = error.message();
  } catch (const std::exception &error) {
    text = error.what();
  }
  message.numbers.push_back(kind);
  message.bytes.assign(text.begin(), text.end());
}

std::exception_ptr unpackError(const Message &message, size_t at) {
  const std::string text(message.bytes.begin(), message.bytes.end());
  const uint64_t kind = message.numbers[at];
  return kind ? std::make_exception_ptr(Error(ErrorClass(kind - 1), text))
              : std::make_exception_ptr(std::runtime_error(text));
}

} // namespace wsec::runtime
