// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_NEARESTNAMES_H
#define RUNTIME_PROGRAM_NEARESTNAMES_H

#include <string>
#include <string_view>
#include <vector>

namespace wsec::runtime {

/// Names come from files of strangers. In a message they stand in quotes; what
/// a terminal would obey is escaped, and of a very long name the middle left
/// out.
std::string inQuotes(std::string_view name);

/// A text of several lines with everything escaped that a terminal would obey,
/// but for the ends of lines.
std::string printable(std::string_view text);

/// The `names` that look most like `wanted`, as "; nearest: 'a', 'b'"; or that
/// there are none. For messages.
std::string nearestNames(const std::string &wanted,
                         std::vector<std::string> names);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_NEARESTNAMES_H
