// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_NOMORETHREADS_H
#define TEST_RUNTIME_NOMORETHREADS_H

#include <pthread.h>

namespace wsec::runtime::test {

/// While it lives the host starts no thread: there is no room for its stack.
class NoMoreThreads {
public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before);
    pthread_attr_t greedy;
    pthread_attr_init(&greedy);
    pthread_attr_setstacksize(&greedy, size_t(1) << 60);
    pthread_setattr_default_np(&greedy);
    pthread_attr_destroy(&greedy);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before);
    pthread_attr_destroy(&before);
  }
  NoMoreThreads(const NoMoreThreads &) = delete;
  NoMoreThreads &operator=(const NoMoreThreads &) = delete;

private:
  pthread_attr_t before;
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_NOMORETHREADS_H
