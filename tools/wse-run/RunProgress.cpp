// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/RunProgress.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/program/NearestNames.h"

namespace wsec::run {

using runtime::inQuotes, runtime::printable;

static std::string describe(const runtime::Call &call,
                            const runtime::Progress &progress) {
  auto index = flatbuffers::uoffset_t(progress.launch);
  const auto &launches = *call.entry().launches();
  std::string text =
      absl::StrCat("launch ", index + 1, " of ", launches.size());
  const auto *kernels = call.program().kernels();
  if (index < launches.size() && kernels &&
      launches.Get(index)->kernel() < kernels->size()) {
    const auto &kernel = *kernels->Get(launches.Get(index)->kernel());
    std::string name = kernel.name()->str();
    constexpr size_t longest = 32;
    if (name.size() > longest)
      name = "..." + name.substr(name.size() - longest);
    if (kernel.kind())
      absl::StrAppend(&text, ", ", printable(kernel.kind()->string_view()));
    absl::StrAppend(&text, " ", inQuotes(name));
  }
  uint64_t total = progress.total;
  return absl::StrFormat("%s: %.0f %% of %.1f M words streamed", text,
                         total ? 100.0 * double(progress.words) / double(total)
                               : 0.0,
                         double(total) * 1e-6);
}

RunProgress::RunProgress(const runtime::Call &call,
                         const runtime::Progress &progress, bool wanted)
    : ProgressLine(wanted,
                   [call, &progress] { return describe(call, progress); }) {}

} // namespace wsec::run
