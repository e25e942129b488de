// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_NEARESTNAMES_H
#define RUNTIME_PROGRAM_NEARESTNAMES_H

#include <string>
#include <vector>

namespace wsec::runtime {

/// Of `names` those that look most like `wanted`, as "; nearest: 'a', 'b'"; or
/// that there are none. For messages.
std::string nearestNames(const std::string &wanted,
                         std::vector<std::string> names);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_NEARESTNAMES_H
