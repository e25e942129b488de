// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/StrictJson.h"
#include "runtime/program/NearestNames.h"

#include <set>
#include <vector>

namespace wsec::runtime {

Json parseObject(const std::string &text, ErrorClass errorClass,
                 const std::string &what) {
  constexpr int deepest = 5;
  std::vector<std::set<std::string>> keys; // of the objects that are open
  auto check = [&](int depth, Json::parse_event_t event, Json &value) {
    if (depth > deepest)
      throw Error(errorClass, what + " is nested more than " +
                                  std::to_string(deepest) + " deep");
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == Json::parse_event_t::key &&
             !keys.back().insert(value.get<std::string>()).second)
      throw Error(errorClass, what + " has " +
                                  inQuotes(value.get<std::string>()) +
                                  " twice");
    return true;
  };
  Json result;
  try {
    result = Json::parse(text, check);
  } catch (const Json::parse_error &error) {
    throw Error(errorClass,
                what + " is no JSON, at byte " + std::to_string(error.byte));
  } catch (const Json::exception &) {
    // Numbers that no type holds.
    throw Error(errorClass, what + " has a number out of range");
  }
  if (!result.is_object())
    throw Error(errorClass, what + " is no JSON object");
  return result;
}

} // namespace wsec::runtime
