// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Checkpoint.h"
#include "runtime/files/Digest.h"
#include "runtime/memoryx/CheckpointFolder.h"
#include "runtime/memoryx/Parameter.h"
#include "runtime/memoryx/StrictJson.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace wsec::runtime {

namespace fs = std::filesystem;

namespace {

constexpr const char *manifestName = "checkpoint.json";
constexpr const char *format = "wsec-checkpoint";
constexpr int version = 1;

[[noreturn]] void refuseState(const std::string &what,
                              const std::string &problem) {
  throw Error(ErrorClass::BadState, what + " " + problem);
}

std::string hex(uint64_t digest) { return absl::StrFormat("%016x", digest); }

/// With the digest of what is before it at its end.
std::string toText(const Checkpoint::Contents &contents) {
  Json json = {{"format", format},
               {"version", version},
               {"step", contents.step},
               {"update", contents.update}};
  if (contents.lossScale)
    json["loss_scale"] = {{"scale", contents.lossScale->scale},
                          {"clean_steps", contents.lossScale->cleanSteps}};
  json["progress"] = Json::object();
  for (const auto &[key, words] : contents.progress)
    json["progress"][key] = words;
  json["files"] = Json::array();
  for (const WrittenFile &file : contents.files)
    json["files"].push_back({{"name", file.name},
                             {"bytes", file.bytes},
                             {"xxh3", hex(file.digest)}});
  json["parameters"] = Json::array();
  for (const auto &[name, isTrainable] : contents.parameters)
    json["parameters"].push_back({{"name", name}, {"trainable", isTrainable}});
  const std::string before = json.dump();
  json["xxh3"] = hex(digestOf(before.data(), before.size()));
  return json.dump(1) + "\n";
}

uint64_t fromHex(const std::string &text, const std::string &what) {
  if (text.size() != 16 ||
      text.find_first_not_of("0123456789abcdef") != text.npos)
    refuseState(what, "has " + inQuotes(text) + " as a digest");
  return std::stoull(text, nullptr, 16);
}

Checkpoint::Contents fromJson(const Json &json, const std::string &what) {
  Checkpoint::Contents contents;
  contents.step = json.at("step").get<uint64_t>();
  contents.update = json.at("update").get<std::string>();
  if (json.contains("loss_scale")) {
    contents.lossScale.emplace();
    const Json &scale = json["loss_scale"];
    contents.lossScale->scale = scale.at("scale").get<double>();
    contents.lossScale->cleanSteps = scale.at("clean_steps").get<uint64_t>();
  }
  for (const auto &[key, words] : json.at("progress").items())
    contents.progress[key] = words.get<std::vector<uint64_t>>();
  for (const Json &file : json.at("files")) {
    contents.files.push_back(
        {file.at("name").get<std::string>(), file.at("bytes").get<uint64_t>(),
         fromHex(file.at("xxh3").get<std::string>(), what)});
    const std::string &name = contents.files.back().name;
    if (name.empty() || name[0] == '.' ||
        name.find_first_of(std::string("/\0", 2)) != name.npos)
      refuseState(what, "names " + inQuotes(name) +
                            ", expected a file of its own folder");
  }
  for (const Json &parameter : json.at("parameters"))
    contents.parameters.push_back({parameter.at("name").get<std::string>(),
                                   parameter.at("trainable").get<bool>()});
  return contents;
}

/// A view of a tensor in f32 for a file.
TensorSource sourceOf(const std::string &name,
                      const std::vector<uint64_t> &shape,
                      const StateRegion &region, std::function<void()> done) {
  return {name, "F32", shape, region.bytes(),
          [&region, done](uint64_t offset, uint64_t bytes, void *to) {
            std::memcpy(
                to, reinterpret_cast<const uint8_t *>(region.data()) + offset,
                bytes);
            if (offset + bytes == region.bytes())
              done();
          }};
}

TensorSource maskOf(const std::string &name, const std::vector<uint64_t> &shape,
                    const std::vector<uint8_t> &mask) {
  return {name, "BOOL", shape, mask.size(),
          [&mask](uint64_t offset, uint64_t bytes, void *to) {
            std::memcpy(to, mask.data() + offset, bytes);
          }};
}

std::string maskName(const std::string &parameter) {
  return "optimizer.state." + parameter + ".mask";
}

std::string momentName(const std::string &parameter, const Moment &moment) {
  return "optimizer.state." + parameter + "." + moment.name;
}

/// Takes the values of tensors of a file, each once.
class Values {
public:
  explicit Values(const std::string &path)
      : path(path), model(SafetensorsModel::open(path)),
        left(model.tensors().size()) {}

  const FileTensor &at(const std::string &name,
                       const std::string &type = "F32") const {
    const auto found = model.tensors().find(name);
    if (found == model.tensors().end())
      refuseState(inQuotes(path), "has no tensor " + inQuotes(name));
    if (found->second->type != type)
      refuseState(inQuotes(path), "has tensor " + inQuotes(name) + " in " +
                                      found->second->type + ", expected " +
                                      type);
    return *found->second;
  }
  bool has(const std::string &name) const {
    return model.tensors().count(name) != 0;
  }
  void take(const std::string &name, const std::vector<uint64_t> &shape,
            const StateRegion &to) {
    take(at(name), shape, to.data());
  }
  std::vector<uint8_t> takeMask(const std::string &name,
                                const std::vector<uint64_t> &shape) {
    const FileTensor &tensor = at(name, "BOOL");
    std::vector<uint8_t> mask(tensor.bytes);
    take(tensor, shape, mask.data());
    return mask;
  }
  void finish() const {
    if (left != 0)
      refuseState(inQuotes(path), "has " + std::to_string(left) +
                                      " tensors that are of no parameter");
    for (const auto &file : model.files())
      if (file->file().damaged())
        refuseState(inQuotes(file->file().path()),
                    "was written to while it was read");
  }

private:
  void take(const FileTensor &tensor, const std::vector<uint64_t> &shape,
            void *to) {
    if (tensor.shape != shape)
      refuseState(inQuotes(path), "has tensor " + inQuotes(tensor.name) +
                                      " in another shape than its parameter");
    std::memcpy(to, tensor.data, tensor.bytes);
    for (const auto &file : model.files())
      file->file().release();
    --left;
  }

  const std::string path;
  const SafetensorsModel model;
  size_t left;
};

/// The file, or the index of several.
std::string stemPath(const std::string &folder, const std::string &stem) {
  const std::string file = folder + "/" + stem + ".safetensors";
  return fs::exists(file) ? file : file + ".index.json";
}

} // namespace

std::string Checkpoint::save(ParameterStore &store, const std::string &folder,
                             SaveOptions options) {
  Contents contents;
  contents.step = store.count;
  contents.update = std::string(store.options.update->name());
  contents.lossScale = store.scale;
  contents.progress = store.progress;
  std::vector<TensorSource> weights, moments;
  for (const auto &each : store.parameters) {
    ParameterStore::Parameter *const its = each.get();
    if (!its->isPending && its->gradient.samples() != 0)
      throw Error(ErrorClass::BadCall,
                  "a checkpoint in the midst of a step: parameter " +
                      inQuotes(its->name) + " has gradients of " +
                      std::to_string(its->gradient.samples()) +
                      " samples; end the step first");
    auto done = [&store, its] { store.touched(*its); };
    contents.parameters.push_back({its->name, its->isTrainable});
    weights.push_back(sourceOf(its->name, its->shape, its->weights, done));
    for (size_t i = 0; i < its->moments.size(); ++i)
      moments.push_back(sourceOf(momentName(its->name, its->momentNames[i]),
                                 its->momentNames[i].shape, *its->moments[i],
                                 done));
    if (!its->mask.empty())
      moments.push_back(maskOf(maskName(its->name), its->shape, its->mask));
  }
  store.settle();
  CheckpointFolder place(folder, contents.step);
  for (const auto &[stem, tensors] :
       {std::pair("model", &weights), std::pair("optimizer", &moments)})
    for (WrittenFile &file :
         writeSafetensors(place.part(), stem, *tensors, options.shardBytes))
      contents.files.push_back(std::move(file));
  writeText(place.part(), manifestName, toText(contents));
  return place.commit(options.keep);
}

std::optional<std::string> Checkpoint::latest(const std::string &folder) {
  const std::vector<uint64_t> steps = CheckpointFolder::stepsIn(folder);
  if (steps.empty())
    return std::nullopt;
  return CheckpointFolder::pathOf(folder, steps.back());
}

Checkpoint::Contents Checkpoint::read(const std::string &path) {
  const std::string file = path + "/" + manifestName, what = inQuotes(file);
  std::error_code none;
  if (fs::is_directory(path, none) && !fs::exists(file, none))
    refuseState(inQuotes(path),
                "is no checkpoint, or one that was never finished: "
                "it has no " +
                    std::string(manifestName));
  const std::vector<uint8_t> bytes = readFile(file);
  Json json =
      parseObject({bytes.begin(), bytes.end()}, ErrorClass::BadState, what);
  try {
    if (json.value("format", "") != format)
      refuseState(what, "is of no checkpoint");
    if (json.value("version", 0) != version)
      refuseState(what, "has version " + json["version"].dump() +
                            " of the format, expected " +
                            std::to_string(version));
    const uint64_t digest = fromHex(json.value("xxh3", ""), what);
    json.erase("xxh3");
    const std::string before = json.dump();
    if (digestOf(before.data(), before.size()) != digest)
      refuseState(what, "is damaged: its digest is another");
    return fromJson(json, what);
  } catch (const Json::exception &) {
    refuseState(what, "is damaged: a field is missing, or of another type");
  }
}

void Checkpoint::verify(const std::string &path, const Contents &contents) {
  std::vector<uint8_t> piece(size_t(4) << 20);
  for (const WrittenFile &file : contents.files) {
    const std::string name = path + "/" + file.name;
    const InputFile input(name);
    if (input.size() != file.bytes)
      refuseState(inQuotes(name), "has " + std::to_string(input.size()) +
                                      " bytes, the checkpoint was saved with " +
                                      std::to_string(file.bytes));
    StreamedDigest digest;
    for (uint64_t at = 0; at < file.bytes; at += piece.size()) {
      const uint64_t n = std::min<uint64_t>(piece.size(), file.bytes - at);
      input.read(at, piece.data(), n);
      digest.add(piece.data(), n);
    }
    if (digest.value() != file.digest)
      refuseState(inQuotes(name),
                  "is not the file that the checkpoint was saved "
                  "with: its digest is another");
  }
}

void Checkpoint::load(ParameterStore &store, const std::string &path) {
  if (store.size() != 0)
    throw Error(ErrorClass::BadCall,
                "a checkpoint is loaded into a store that has parameters");
  const Contents contents = read(path);
  if (contents.update != store.options.update->name())
    refuseState(inQuotes(path), "was saved with the update rule " +
                                    inQuotes(contents.update) +
                                    ", the store has " +
                                    inQuotes(store.options.update->name()));
  verify(path, contents);
  Values weights(stemPath(path, "model")), moments(stemPath(path, "optimizer"));
  for (const auto &[name, isTrainable] : contents.parameters) {
    const FileTensor &tensor = weights.at(name);
    auto &its = store.at(store.add(name, tensor.shape, isTrainable));
    weights.take(name, its.shape, its.weights);
    for (size_t i = 0; i < its.moments.size(); ++i)
      moments.take(momentName(name, its.momentNames[i]),
                   its.momentNames[i].shape, *its.moments[i]);
    if (moments.has(maskName(name)))
      its.mask = moments.takeMask(maskName(name), its.shape);
    store.touched(its);
  }
  weights.finish();
  moments.finish();
  store.count = contents.step;
  store.progress = contents.progress;
  if (store.scale && contents.lossScale) {
    store.scale->scale = contents.lossScale->scale;
    store.scale->cleanSteps = contents.lossScale->cleanSteps;
  }
}

} // namespace wsec::runtime
