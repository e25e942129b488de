// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program as a JSON document: what `show --json` prints, what `show` draws
// and what `diff` compares.
#ifndef TOOLS_WSE_INSPECT_SUMMARY_H
#define TOOLS_WSE_INSPECT_SUMMARY_H

#include "runtime/program/program_generated.h"

#include <nlohmann/json.hpp>

namespace wsec::inspect {

using Json = nlohmann::ordered_json;

/// Everything has a name in it; code and scalars are there by size and digest.
Json summarize(const program::Program &program);

/// What a router does with a color: "West -> Ramp+East, switch [...]".
std::string describeRule(const program::RouteRule &rule);

} // namespace wsec::inspect

#endif // TOOLS_WSE_INSPECT_SUMMARY_H
