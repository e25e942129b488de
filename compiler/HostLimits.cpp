// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/HostLimits.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <array>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace wsec;

/// Of the tool that runs; no memory is asked for where it has run out.
static std::array<char, 32> toolName;

static void finishOutput() {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return;
  std::fprintf(stderr, "%s: error: cannot write to standard output: %s\n",
               toolName.data(), llvm::outs().error().message().c_str());
  llvm::outs().clear_error();
  std::_Exit(1);
}

static void endWithoutMemory(void *, const char *, bool) {
  std::array<char, 64> line;
  const int length = std::snprintf(
      line.data(), line.size(), "%s: error: out of memory\n", toolName.data());
  (void)!::write(STDERR_FILENO, line.data(), size_t(length));
  std::_Exit(1);
}

void wsec::reportHostLimits(llvm::StringRef tool) {
  std::snprintf(toolName.data(), toolName.size(), "%s", tool.str().c_str());
  llvm::outs(); // is there before, and so destroyed behind
  std::atexit(finishOutput);
  llvm::install_bad_alloc_error_handler(endWithoutMemory);
  llvm::install_out_of_memory_new_handler();
}
