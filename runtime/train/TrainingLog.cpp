// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/TrainingLog.h"
#include "runtime/files/NewFile.h"
#include "runtime/memoryx/StrictJson.h"
#include "runtime/program/NearestNames.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace wsec::runtime {

static Error cannotWrite(const std::string &path) {
  return {ErrorClass::IoError, "cannot write the log " + inQuotes(path) + ": " +
                                   std::strerror(errno)};
}

TrainingLog::TrainingLog(const std::string &path, std::FILE *people,
                         uint64_t steps, uint64_t batch, std::string unit,
                         uint64_t every)
    : path(path), people(people), isTerminal(people && isatty(fileno(people))),
      steps(steps), batch(batch), every(every), unit(std::move(unit)) {}

TrainingLog::~TrainingLog() {
  if (file)
    std::fclose(file);
}

/// A line that is cut off is of a step that was not finished.
void TrainingLog::keepUntil(uint64_t step) {
  std::string kept;
  if (step > 0 && std::filesystem::exists(path)) {
    const std::vector<uint8_t> bytes = readFile(path);
    const std::string text(bytes.begin(), bytes.end());
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_object() && json.contains("step") &&
          json["step"].is_number_unsigned() &&
          json["step"].get<uint64_t>() <= step)
        absl::StrAppend(&kept, line, "\n");
    }
  }
  NewFile out(path);
  out.write(kept.data(), kept.size());
  out.commit();
}

void TrainingLog::begins(uint64_t step, const Trainer &) {
  first = step;
  if (step > 0 && people)
    show(absl::StrCat("goes on after step ", step), true);
  if (path.empty())
    return;
  keepUntil(step);
  file = std::fopen(path.c_str(), "a");
  if (!file)
    throw cannotWrite(path);
}

void TrainingLog::write(const std::string &line) {
  if (file &&
      (std::fputs((line + "\n").c_str(), file) < 0 || std::fflush(file) != 0))
    throw cannotWrite(path);
}

/// On a terminal a line makes room for the next, unless it stays.
void TrainingLog::show(const std::string &line, bool stays) {
  if (!people || (!stays && !isTerminal))
    return;
  std::fprintf(people, isTerminal ? "\r%s\033[K%s" : "%s%s",
               printable(line).c_str(), stays ? "\n" : "");
  std::fflush(people);
}

static std::string timeLeft(double seconds) {
  const auto whole = uint64_t(seconds + 0.5);
  if (whole >= 3600)
    return absl::StrFormat("%d h %02d min", whole / 3600, whole / 60 % 60);
  return whole >= 60 ? absl::StrFormat("%d min %02d s", whole / 60, whole % 60)
                     : absl::StrFormat("%d s", whole);
}

double TrainingLog::rate(double seconds) const {
  return seconds > 0 ? double(batch) / seconds : 0;
}

void TrainingLog::ended(const TrainingStep &step) {
  const uint64_t made = step.step - first;
  seconds += step.seconds;
  smoothed = made == 1 ? step.seconds : 0.6 * smoothed + 0.4 * step.seconds;
  all.push_back(step.loss);
  // 1e-300 for a host whose clock stands.
  const double took = std::max(step.seconds, 1e-300);
  Json line = {{"step", step.step},
               {"loss", step.loss},
               {"lr", step.learningRate},
               {"grad_norm", Json()},
               {unit, step.position},
               {"cycles", step.cycles},
               {"samples_per_second", double(batch) / took}};
  if (std::isfinite(step.gradientNorm))
    line["grad_norm"] = step.gradientNorm;
  if (step.lossScale)
    line["loss_scale"] = *step.lossScale;
  if (step.density)
    line["density"] = *step.density;
  if (step.isSkipped)
    line["skipped"] = true;
  line[unit + "_per_second"] = double(step.size) / took;
  write(line.dump());
  const bool stays = step.step % every == 0 || step.step == steps || made == 1;
  show(absl::StrFormat(
           "step %d of %d, loss %.4f, lr %.3g, grad norm %s, %.4g samples/s, "
           "%s%s left",
           step.step, steps, step.loss, step.learningRate,
           step.isSkipped
               ? absl::StrFormat("overflows at loss scale %g: skipped",
                                 *step.lossScale)
               : absl::StrFormat("%.3g", step.gradientNorm),
           rate(smoothed),
           step.size == batch
               ? std::string()
               : absl::StrFormat("%.4g %s/s, ",
                                 double(step.size) / std::max(smoothed, 1e-300),
                                 unit),
           timeLeft(double(steps - step.step) * seconds / double(made))),
       stays);
}

void TrainingLog::ended(const Evaluation &evaluation) {
  write(Json{{"step", evaluation.step},
             {"eval_loss", evaluation.loss},
             {"eval_" + unit, evaluation.size},
             {"eval_cycles", evaluation.cycles}}
            .dump());
  show(absl::StrFormat("after step %d: eval loss %.4f of %d %s",
                       evaluation.step, evaluation.loss, evaluation.size, unit),
       true);
}

void TrainingLog::saved(uint64_t step, const std::string &path) {
  show(absl::StrCat("checkpoint of step ", step, ": ", path), true);
}

void TrainingLog::endedEarly(const BestEvaluation &best) {
  show(
      absl::StrFormat("ends early: the eval loss has not been below %.4f, that "
                      "after step %d, in %d evaluations",
                      best.loss, best.step, best.since),
      true);
}

} // namespace wsec::runtime
