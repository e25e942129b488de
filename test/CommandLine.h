// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_COMMANDLINE_H
#define TEST_COMMANDLINE_H

#include <cstring>

namespace wsec::test {

/// Whether an argument is NAME=TEXT; then `text` is that.
inline bool optionValue(const char *argument, const char *name,
                        const char *&text) {
  const size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0 || argument[length] != '=')
    return false;
  text = argument + length + 1;
  return true;
}

} // namespace wsec::test

#endif // TEST_COMMANDLINE_H
