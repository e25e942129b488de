// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_COUNTFLAG_H
#define TOOLS_WSEC_COUNTFLAG_H

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <cstdint>
#include <string>

namespace wsec::tools {

/// Type of a flag that is a whole number of at least `Least`; 0 until it is
/// given.
template <int Least>
struct Whole {
  int64_t value;
};
using Count = Whole<1>;
using Any = Whole<0>;

template <int Least>
bool AbslParseFlag(absl::string_view text, Whole<Least> *number,
                   std::string *error) {
  if (absl::SimpleAtoi(text, &number->value) && number->value >= Least &&
      number->value <= int64_t(1) << 40)
    return true;
  *error = absl::StrCat("wants a number of at least ", Least, ", found '", text,
                        "'");
  return false;
}

template <int Least>
std::string AbslUnparseFlag(Whole<Least> number) {
  return number.value ? absl::StrCat(number.value) : "";
}

} // namespace wsec::tools

#endif // TOOLS_WSEC_COUNTFLAG_H
