// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/Heap.h"

#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace wsec::run {

void prepareHeap() {
  constexpr int megabyte = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * megabyte);
  mallopt(M_TRIM_THRESHOLD, 1024 * megabyte);
  // Address space, which takes no memory until it is used; what does not lie
  // on the heap of the process (sanitizers) stays as it is.
  mallopt(M_TOP_PAD, 256 * megabyte);
  const auto before = reinterpret_cast<uintptr_t>(sbrk(0));
  void *volatile taken = std::malloc(megabyte); // Compilers know the other.
  std::free(taken);
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  mallopt(M_TOP_PAD, 16 * megabyte);
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (before + page - 1) / page * page;
  if (begin < end) // A wish: without large pages it is only slower.
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
}

} // namespace wsec::run
