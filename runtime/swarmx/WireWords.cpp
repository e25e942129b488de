// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/WireWords.h"

#include "runtime/program/Errors.h"

#include <algorithm>
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

void awaitOthers(Link &link, unsigned &ready) {
  while (ready < link.size()) {
    const auto received = link.receive();
    if (!received)
      continue;
    if (received->second.kind == Message::Kind::Failed)
      std::rethrow_exception(unpackError(received->second, 1));
    ++ready;
  }
}

std::vector<uint8_t> encode(const Message &message, uint64_t most) {
  std::vector<uint64_t> head{uint64_t(message.kind), message.numbers.size()};
  head.insert(head.end(), message.numbers.begin(), message.numbers.end());
  const uint64_t bytes = head.size() * 8 + message.bytes.size();
  if (bytes > most)
    throw Error(ErrorClass::HostLimit,
                "a message of " + std::to_string(bytes) +
                    " bytes to another process is more than the " +
                    std::to_string(most) +
                    " of one; run the systems in one process (--num-systems, "
                    "without mpirun)");
  std::vector<uint8_t> data(bytes);
  std::memcpy(data.data(), head.data(), head.size() * 8);
  std::copy(message.bytes.begin(), message.bytes.end(),
            data.begin() + ptrdiff_t(head.size() * 8));
  return data;
}

Message decode(const std::vector<uint8_t> &data) {
  uint64_t head[2];
  const bool hasHead = data.size() >= sizeof(head);
  if (hasHead)
    std::memcpy(head, data.data(), sizeof(head));
  if (!hasHead || head[0] > uint64_t(Message::Kind::End) ||
      head[1] > (data.size() - sizeof(head)) / 8)
    throw Error(ErrorClass::IoError,
                "a message of " + std::to_string(data.size()) +
                    " bytes from another process cannot be read; run the same "
                    "build in all of them");
  Message message{Message::Kind(head[0]), std::vector<uint64_t>(head[1])};
  const auto bytes = data.begin() + ptrdiff_t(sizeof(head) + head[1] * 8);
  std::copy(data.begin() + sizeof(head), bytes,
            reinterpret_cast<uint8_t *>(message.numbers.data()));
  message.bytes.assign(bytes, data.end());
  return message;
}

} // namespace wsec::runtime
