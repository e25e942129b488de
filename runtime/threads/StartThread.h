// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_THREADS_STARTTHREAD_H
#define RUNTIME_THREADS_STARTTHREAD_H

#include <functional>
#include <string>
#include <thread>

namespace wsec::runtime {

/// A thread of the host for `what`, such as "worker 3 of 8". Throws HostLimit
/// if it gets none.
std::thread startThread(const std::string &what, std::function<void()> work);

} // namespace wsec::runtime

#endif // RUNTIME_THREADS_STARTTHREAD_H
