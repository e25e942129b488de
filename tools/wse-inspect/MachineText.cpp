// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schema with its names, of which only this file needs the tables: so no
// parameter is forgotten.
#include "tools/wse-inspect/reflection/program_generated.h"

#include "tools/wse-inspect/MachineText.h"
#include "tools/wse-inspect/Presets.h"

#include <flatbuffers/minireflect.h>
#include <nlohmann/json.hpp>

namespace wsec::inspect {

using Json = nlohmann::json;

namespace {

/// Collects the fields of a table of numbers and lists of numbers.
class FieldCollector : public flatbuffers::IterationVisitor {
public:
  void Field(size_t, size_t, flatbuffers::ElementaryType, bool,
             const flatbuffers::TypeTable *, const char *name,
             const uint8_t *) override {
    field = name;
    fields[field] = 0; // what is absent
  }
  void Bool(bool value) override { add(value ? 1 : 0); }
  void Int(int32_t value, const char *) override { add(value); }
  void Double(double value) override { add(value); }
  void String(const flatbuffers::String *value) override { add(value->str()); }
  void StartVector() override {
    fields[field] = Json::array();
    inList = true;
  }
  void EndVector() override { inList = false; }

  Json fields;

private:
  void add(Json value) {
    if (inList)
      fields[field].push_back(std::move(value));
    else
      fields[field] = std::move(value);
  }

  std::string field;
  bool inList = false;
};

} // namespace

std::string machineText(const program::Machine &machine) {
  FieldCollector collector;
  flatbuffers::IterateObject(reinterpret_cast<const uint8_t *>(&machine),
                             program::MachineTypeTable(), &collector);
  const std::string name = collector.fields["name"];
  Json base = Json::parse(presetTexts[0].second), differs = Json::object();
  bool isPreset = false;
  for (const auto &[preset, text] : presetTexts)
    if (isPreset |= name == preset; name == preset)
      base = Json::parse(text);
  for (const auto &[field, value] : collector.fields.items()) {
    const Json usual = base.value(field, Json(0));
    const bool isMesh = field == "width" || field == "height";
    // A smaller mesh is no other machine.
    if (field != "name" && (isMesh ? value > usual : value != usual))
      differs[field] = value;
  }
  if (isPreset && differs.empty())
    return name;
  differs["name"] = name;
  differs["base"] = base["name"];
  return differs.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace wsec::inspect
