// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/PlacementFile.h"
#include "compiler/InputText.h"

#include <algorithm>

using namespace wsec;
using llvm::createStringError;
using llvm::StringRef;

llvm::Expected<llvm::json::Object>
wsec::readJsonObject(const std::string &path) {
  auto text = readRegularFile(path);
  if (!text)
    return text.takeError();
  StringRef buffer = (*text)->getBuffer();
  if (auto nesting = nestingProblem(buffer, maxNestingOfJson))
    return createStringError("'" + path + "' " + *nesting);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(buffer);
  if (!value)
    return createStringError(
        "'" + path + "' is no JSON: " + llvm::toString(value.takeError()));
  if (llvm::json::Object *object = value->getAsObject())
    return std::move(*object);
  return createStringError("'" + path + "' is no JSON object");
}

/// Reads the named numbers of an object; says which one is missing.
static llvm::Error
readNumbers(const llvm::json::Object *object, const std::string &where,
            llvm::ArrayRef<std::pair<StringRef, int64_t *>> numbers) {
  for (auto [key, number] : numbers) {
    auto value = object ? object->getInteger(key) : std::nullopt;
    // Sums of two must not overflow.
    if (!value || *value < -(int64_t(1) << 31) || *value >= int64_t(1) << 31)
      return createStringError(where + " has no number '" + key + "'");
    *number = *value;
  }
  return llvm::Error::success();
}

/// Reads what `key` says, if it is there.
static llvm::Error readBool(const llvm::json::Object &object, StringRef key,
                            const std::string &where,
                            std::optional<bool> &flag) {
  const llvm::json::Value *value = object.get(key);
  flag = value ? value->getAsBoolean() : std::nullopt;
  if (value && !flag)
    return createStringError(where + ": '" + key + "' is not true or false");
  return llvm::Error::success();
}

/// What it is among the others.
static llvm::Error readRole(const llvm::json::Object &object,
                            const std::string &where,
                            PlacementFile::Region &region) {
  const llvm::json::Value *role = object.get("role");
  auto symbol = role
                    ? wse::symbolizeRegionRole(role->getAsString().value_or(""))
                    : wse::RegionRole::Whole;
  if (!symbol)
    return createStringError(where +
                             ": its role is none of whole, part, stage, code");
  region.role = *symbol;
  const bool isCut =
      *symbol == wse::RegionRole::Stage || *symbol == wse::RegionRole::Code;
  if (!isCut && object.get("first_kernel"))
    return createStringError(
        where + " has a 'first_kernel', and its role is not stage or code");
  if (isCut && !object.getInteger("group"))
    return createStringError(
        where + " is a stage and has no number 'group', which says in which "
                "row of stages it is, from 0 on; --dump-placement of this "
                "wsec writes it");
  if (isCut)
    if (llvm::Error error = readNumbers(
            &object, where,
            {{"first_kernel", &region.firstKernel}, {"group", &region.group}}))
      return error;
  if (!object.get("channels"))
    return llvm::Error::success();
  if (!isCut)
    return createStringError(
        where + " has 'channels', and its role is not stage or code");
  return readNumbers(
      object.getObject("channels"), where + ": its 'channels'",
      {{"from", &region.shareBegin}, {"count", &region.shareCount}});
}

static llvm::Error readRegion(const llvm::json::Value &value,
                              const std::string &where, PlacementFile &file) {
  const llvm::json::Object *region = value.getAsObject();
  std::optional<StringRef> name =
      region ? region->getString("name") : std::nullopt;
  if (!name)
    return createStringError(where + ": region " +
                             std::to_string(file.regions.size()) +
                             " has no name");
  PlacementFile::Region &read = file.regions.emplace_back();
  read.name = name->str();
  const std::string its = where + ": region @" + read.name;
  if (llvm::Error error = readNumbers(region, its,
                                      {{"x", &read.pes.x},
                                       {"y", &read.pes.y},
                                       {"columns", &read.pes.columns},
                                       {"rows", &read.pes.rows}}))
    return error;
  if (llvm::Error error = readRole(*region, its, read))
    return error;
  return readBool(*region, "spread_heads", its, read.spreadHeads);
}

static llvm::Error
readSelection(const llvm::json::Value *value, const std::string &where,
              std::optional<PlacementFile::Selection> &selection) {
  if (!value)
    return llvm::Error::success();
  const std::string its = where + ": its selection";
  const llvm::json::Object *object = value->getAsObject();
  PlacementFile::Selection &read = selection.emplace();
  if (llvm::Error error =
          readNumbers(object, its, {{"code_bytes", &read.code}}))
    return error;
  if (read.code < 0)
    return createStringError(its + " has a negative number 'code_bytes'");
  for (auto [key, flag] :
       {std::make_pair("few_colors", &read.fewColors),
        std::make_pair("little_scratch", &read.littleScratch),
        std::make_pair("weights_stay", &read.weightsStay)}) {
    std::optional<bool> value;
    if (llvm::Error error = readBool(*object, key, its, value))
      return error;
    *flag = value.value_or(false);
  }
  const llvm::json::Value *scratch = object->get("scratch");
  if (scratch && !scratch->getAsObject())
    return createStringError(its + " has no object 'scratch'");
  if (scratch)
    for (const auto &[kernel, bytes] : *scratch->getAsObject())
      read.scratch[kernel.str()] = bytes.getAsInteger().value_or(-1);
  for (const auto &[kernel, bytes] : read.scratch)
    if (bytes < 0)
      return createStringError(its + " has no number of bytes as scratch of '" +
                               kernel + "'");
  return llvm::Error::success();
}

llvm::Expected<PlacementFile> wsec::readPlacementFile(const std::string &path) {
  llvm::Expected<llvm::json::Object> object = readJsonObject(path);
  if (!object)
    return object.takeError();
  PlacementFile file;
  file.path = path;
  const std::string where = "placement '" + path + "'";
  if (object->getInteger("version") != 1)
    return createStringError(where + " is not of version 1");
  if (llvm::Error error =
          readNumbers(object->getObject("machine"), where + ": its machine",
                      {{"width", &file.width}, {"height", &file.height}}))
    return error;
  const llvm::json::Array *regions = object->getArray("regions");
  if (!regions || regions->empty())
    return createStringError(where + " has no regions");
  for (const llvm::json::Value &value : *regions)
    if (llvm::Error error = readRegion(value, where, file))
      return error;
  if (llvm::Error error =
          readSelection(object->get("selection"), where, file.selection))
    return error;
  // @r, @r1, @r2, ...
  std::sort(file.regions.begin(), file.regions.end(),
            [](const auto &a, const auto &b) {
              return std::make_pair(a.name.size(), a.name) <
                     std::make_pair(b.name.size(), b.name);
            });
  return file;
}

static std::string size(int64_t columns, int64_t rows) {
  return std::to_string(columns) + "x" + std::to_string(rows);
}

std::string PlacementFile::meshProblem(int64_t columns, int64_t rows) const {
  if (width == columns && height == rows)
    return "";
  return "placement '" + path + "' is of a mesh of " + size(width, height) +
         ", the program of " + size(columns, rows);
}

std::string PlacementFile::roleProblem() const {
  const std::string where = "placement '" + path + "'";
  if (regions.size() == 1 && role() != wse::RegionRole::Whole)
    return where + ": region @" + regions[0].name +
           " is the only one, and its role is " +
           wse::stringifyRegionRole(role()).str() + ", not whole";
  for (const Region &region : regions)
    if (regions.size() > 1 && region.role == wse::RegionRole::Whole)
      return where + ": region @" + region.name + " is one of " +
             std::to_string(regions.size()) +
             ", and its 'role' is not part, stage or code";
    else if (region.role != role())
      return where + ": the role of region @" + region.name + " is " +
             wse::stringifyRegionRole(region.role).str() + ", that of @" +
             regions[0].name + " is " + wse::stringifyRegionRole(role()).str() +
             "; all have the same";
  return "";
}
