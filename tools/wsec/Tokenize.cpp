// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/Tokenize.h"
#include "tools/wsec/TrainingProgram.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cstdlib>
#include <filesystem>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace wsec::tools {

/// Whether it ran and ended with 0. No shell reads the words.
static bool succeeds(const std::vector<std::string> &words) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child;
  int status;
  return ::posix_spawnp(&child, arguments[0], nullptr, nullptr,
                        arguments.data(), environ) == 0 &&
         ::waitpid(child, &status, 0) == child && status == 0;
}

std::string tokenize(const std::string &text, const std::string &tokenizer,
                     const std::string &folder) {
  // What another build has made is made anew, as programs are.
  const std::string path = absl::StrCat(folder, "/tokens-", digestOfFile(text),
                                        "-", digestOfFile(tokenizer), "-",
                                        digestOfFile("/proc/self/exe"), ".npy");
  if (fs::exists(path))
    return path;
  fs::create_directories(folder);
  const char *python = std::getenv("WSEC_PYTHON");
  std::vector<std::string> words{python && *python ? python : "python3",
                                 "-m",
                                 "wsec.tokens",
                                 text,
                                 "--tokenizer=" + tokenizer,
                                 "-o",
                                 path};
  if (succeeds(words))
    return path;
  words.back() = "TOKENS.npy";
  throw std::runtime_error(
      "a tokenizer is read by a package of Python, and this has failed:\n  " +
      absl::StrJoin(words, " ") +
      "\n$WSEC_PYTHON names a Python that has wsec (or $PYTHONPATH its folder) "
      "and tokenizers; or run it yourself, and take --tokens=TOKENS.npy");
}

} // namespace wsec::tools
