// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/GradientFiles.h"
#include "absl/strings/str_format.h"
#include "runtime/files/NewFile.h"
#include "runtime/host/Npy.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fnmatch.h>
#include <utility>

using namespace wsec::runtime;

namespace wsec::run {

static bool fits(const std::string &name, const std::string &glob) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

GradientFiles::GradientFiles(std::string where, std::vector<std::string> which,
                             const Session &session)
    : folder(std::move(where)), globs(std::move(which)) {
  const std::vector<std::string> names = session.parameters();
  for (const std::string &glob : globs)
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string &name) { return fits(name, glob); }))
      throw Error(ErrorClass::BadTensor, "no parameter that trains is called " +
                                             inQuotes(glob) +
                                             nearestNames(glob, names));
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    throw Error(ErrorClass::IoError,
                "cannot make " + inQuotes(folder) + ": " + failed.message());
}

bool GradientFiles::isWanted(const std::string &name) const {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string &glob) { return fits(name, glob); });
}

/// A name as that of a file in a folder.
static std::string fileName(const std::string &name) {
  std::string text;
  for (char c : name)
    text += c == '/' ? "%2F" : c == '%' ? "%25" : std::string(1, c);
  return text + ".npy";
}

void GradientFiles::take(const program::Tensor &parameter,
                         std::span<const float> gradient) {
  const std::string name = parameter.parameter()->str();
  double sum = 0, squares = 0;
  float largest = 0;
  for (float x : gradient) {
    sum += double(x);
    squares += double(x) * double(x);
    largest = std::isnan(x) ? x : std::max(largest, std::abs(x));
  }
  const auto number = [](double x) {
    return std::isfinite(x) ? absl::StrFormat("%.9g", x) : "null";
  };
  lines[name] = absl::StrFormat(
      "{\"parameter\": \"%s\", \"elements\": %d, \"sum\": %s, \"norm\": "
      "%s, \"largest\": %s}\n",
      printable(name), gradient.size(), number(sum), number(std::sqrt(squares)),
      number(double(largest)));
  if (!isWanted(name))
    return;
  HostTensor shape{DataType::Float32, {}, {}};
  for (unsigned d = 0; d < parameter.shape()->size(); ++d)
    shape.shape.push_back(parameter.shape()->Get(d));
  const std::string header = formatNpy(shape);
  NewFile file(folder + "/" + fileName(name));
  file.write(header.data(), header.size());
  file.write(gradient.data(), gradient.size() * sizeof(float));
  file.commit();
}

void GradientFiles::finish() const {
  NewFile file(folder + "/gradients.jsonl");
  for (const auto &[name, line] : lines)
    file.write(line.data(), line.size());
  file.commit();
}

} // namespace wsec::run
