// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/threads/StartThread.h"
#include "runtime/program/Errors.h"

#include <system_error>
#include <utility>

namespace wsec::runtime {

std::thread startThread(const std::string &what, std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error &error) {
    throw Error(ErrorClass::HostLimit,
                what + " gets no thread of the host (" +
                    error.code().message() +
                    "); take fewer threads or systems, or allow more of them "
                    "(ulimit -u, and the memory of their stacks)");
  }
}

} // namespace wsec::runtime
