// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_STRICTJSON_H
#define RUNTIME_MEMORYX_STRICTJSON_H

#include "runtime/program/Errors.h"

#include <nlohmann/json.hpp>

#include <string>

namespace wsec::runtime {

/// Objects keep the order of their keys.
using Json = nlohmann::ordered_json;

/// The object that a text of a stranger is. Throws `errorClass` with `what`
/// before the reason: no JSON, no object, a key twice in one object, or deeper
/// than our formats are.
Json parseObject(const std::string &text, ErrorClass errorClass,
                 const std::string &what);

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_STRICTJSON_H
