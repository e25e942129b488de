// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-inspect/Store.h"
#include "runtime/memoryx/Checkpoint.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "tools/wse-inspect/Table.h"

#include <filesystem>

namespace wsec::inspect {

namespace fs = std::filesystem;
using namespace runtime;

static Json manifestJson(const Checkpoint::Contents &contents) {
  Json json = {{"step", contents.step}, {"update", contents.update}};
  if (contents.lossScale)
    json["loss_scale"] = {{"scale", contents.lossScale->scale},
                          {"clean_steps", contents.lossScale->cleanSteps}};
  json["progress"] = contents.progress;
  json["frozen"] = Json::array();
  for (const auto &[name, isTrainable] : contents.parameters)
    if (!isTrainable)
      json["frozen"].push_back(name);
  json["files"] = Json::array();
  for (const WrittenFile &file : contents.files)
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}});
  return json;
}

/// The folder of a checkpoint, or the last one in it; nothing: no checkpoint.
static std::optional<std::string> checkpointAt(const std::string &path) {
  std::error_code none;
  if (fs::exists(path + "/checkpoint.json", none))
    return path;
  return Checkpoint::latest(path);
}

Json storedTensors(const std::string &path, bool verify) {
  Json json;
  const std::optional<std::string> checkpoint = checkpointAt(path);
  json["path"] = checkpoint.value_or(path);
  if (checkpoint) {
    const Checkpoint::Contents contents = Checkpoint::read(*checkpoint);
    if (verify)
      Checkpoint::verify(*checkpoint, contents);
    json["checkpoint"] = manifestJson(contents);
    json["checkpoint"]["verified"] = verify;
  } else if (verify) {
    throw Error(ErrorClass::BadState,
                inQuotes(path) + " is no checkpoint; only those have digests");
  }
  const auto model = SafetensorsModel::open(json["path"]);
  uint64_t elements = 0, bytes = 0;
  Json tensors = Json::array();
  for (const auto &file : model.files())
    for (const FileTensor &tensor : file->tensors()) {
      elements += tensor.elements;
      bytes += tensor.bytes;
      tensors.push_back(
          {{"name", tensor.name},
           {"type", tensor.type},
           {"shape", tensor.shape},
           {"file", fs::path(file->file().path()).filename().string()},
           {"offset", tensor.offset},
           {"bytes", tensor.bytes}});
    }
  json["elements"] = elements;
  json["bytes"] = bytes;
  json["tensors"] = std::move(tensors);
  return json;
}

static std::string showCheckpoint(const Json &its) {
  std::string text = "checkpoint after step " + plain(its["step"]) + ", by " +
                     plain(its["update"]);
  if (its.contains("loss_scale"))
    text += ", loss scale " + plain(its["loss_scale"]["scale"]);
  text += its["verified"] ? ", all files are whole\n" : "\n";
  for (const auto &[key, words] : its["progress"].items())
    text += "  " + key + " = " + joined(words) + "\n";
  for (const Json &file : its["files"])
    text +=
        "  " + plain(file["name"]) + ", " + plain(file["bytes"]) + " bytes\n";
  return text;
}

std::string showStored(const Json &stored) {
  std::string text;
  if (stored.contains("checkpoint"))
    text = showCheckpoint(stored["checkpoint"]);
  text += plain(stored["tensors"].size()) + " tensors of " +
          plain(stored["elements"]) + " elements, " + plain(stored["bytes"]) +
          " bytes, in " + plain(stored["path"]) + "\n";
  std::vector<std::vector<Json>> rows;
  for (const Json &tensor : stored["tensors"])
    rows.push_back({tensor["name"], tensor["type"], tensor["shape"].dump(),
                    tensor["bytes"], tensor["offset"], tensor["file"]});
  return text +
         table({"name", "type", "shape", "bytes", "offset", "file"}, rows);
}

} // namespace wsec::inspect
