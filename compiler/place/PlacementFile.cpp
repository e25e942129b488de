// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/place/PlacementFile.h"
#include "compiler/InputText.h"
#include "compiler/place/ReadPlacement.h"

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
  for (const llvm::json::Value &value : *regions) {
    const llvm::json::Object *region = value.getAsObject();
    std::optional<StringRef> name =
        region ? region->getString("name") : std::nullopt;
    if (!name)
      return createStringError(where + ": region " +
                               std::to_string(file.regions.size()) +
                               " has no name");
    PlacementFile::Region &read = file.regions.emplace_back();
    read.name = name->str();
    if (llvm::Error error =
            readNumbers(region, where + ": region @" + read.name,
                        {{"x", &read.pes.x},
                         {"y", &read.pes.y},
                         {"columns", &read.pes.columns},
                         {"rows", &read.pes.rows}}))
      return error;
  }
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

std::string wsec::pinRegions(wse::ProgramOp program,
                             const PlacementFile &file) {
  const std::string where = "placement '" + file.path + "'";
  if (file.width != program.meshWidth() || file.height != program.meshHeight())
    return where + " is of a mesh of " + size(file.width, file.height) +
           ", the program of " +
           size(program.meshWidth(), program.meshHeight());
  auto regions = regionsOf(program);
  if (regions.size() != file.regions.size())
    return where + " has " + std::to_string(file.regions.size()) +
           " regions, the program " + std::to_string(regions.size());
  for (wse::RegionOp region : regions) {
    auto place = std::find_if(
        file.regions.begin(), file.regions.end(),
        [&](const auto &one) { return one.name == region.getSymName(); });
    if (place == file.regions.end())
      return where + " says nothing of region @" + region.getSymName().str();
    const PlacedRegion &pes = place->pes;
    if (pes.columns != region.columns() || pes.rows != region.rows())
      return where + ": region @" + place->name + " is " +
             size(pes.columns, pes.rows) + ", kernels are selected for " +
             size(region.columns(), region.rows()) +
             "; another shape needs the model, or --region";
    region.setX(pes.x);
    region.setY(pes.y);
  }
  return "";
}
