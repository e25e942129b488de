// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/estimate/Report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace wsec::estimate {

namespace {
/// Shapes of an SVG that needs nothing else, in the order they are drawn.
class Svg {
public:
  Svg(double width, double height) : width(width), height(height) {}
  void box(double x, double y, double w, double h, const std::string &fill,
           const std::string &title);
  void line(double x0, double y0, double x1, double y1,
            const std::string &style);
  void text(double x, double y, const std::string &content,
            const char *anchor = "start", const char *style = "");
  void dot(double x, double y, const std::string &fill,
           const std::string &title);
  std::string take() const;

private:
  double width, height;
  std::string body;
};
} // namespace

static std::string escaped(const std::string &text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

void Svg::box(double x, double y, double w, double h, const std::string &fill,
              const std::string &title) {
  absl::StrAppendFormat(&body,
                        "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' "
                        "fill='%s'><title>%s</title></rect>\n",
                        x, y, std::max(0.0, w), h, fill, escaped(title));
}

void Svg::line(double x0, double y0, double x1, double y1,
               const std::string &style) {
  absl::StrAppendFormat(&body,
                        "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' %s/>\n",
                        x0, y0, x1, y1, style);
}

void Svg::text(double x, double y, const std::string &content,
               const char *anchor, const char *style) {
  absl::StrAppendFormat(&body,
                        "<text x='%.1f' y='%.1f' text-anchor='%s' %s>%s"
                        "</text>\n",
                        x, y, anchor, style, escaped(content));
}

void Svg::dot(double x, double y, const std::string &fill,
              const std::string &title) {
  absl::StrAppendFormat(&body,
                        "<circle cx='%.1f' cy='%.1f' r='4' fill='%s'><title>"
                        "%s</title></circle>\n",
                        x, y, fill, escaped(title));
}

std::string Svg::take() const {
  return absl::StrFormat(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
      "viewBox='0 0 %.0f %.0f' font-family='sans-serif' font-size='12'>\n"
      "<rect width='100%%' height='100%%' fill='white'/>\n%s</svg>\n",
      width, height, width, height, body);
}

namespace {
/// A logarithmic axis.
struct Axis {
  double from, to;   ///< values
  double begin, end; ///< pixels
  double at(double value) const {
    const double clamped = std::clamp(value, from, to);
    return begin +
           (end - begin) * std::log(clamped / from) / std::log(to / from);
  }
};
} // namespace

static const char *const grid = "stroke='#ddd'";

//===----------------------------------------------------------------------===//
// Regimes over tokens and size
//===----------------------------------------------------------------------===//

/// Blue, orange and grey are told apart by those who see few colors, too.
static std::string colorOf(Regime regime) {
  switch (regime) {
  case Regime::Compute:
    return "#1f77b4";
  case Regime::Memory:
    return "#ff7f0e";
  case Regime::Stream:
    return "#c7c7c7";
  }
  return "";
}

static void drawRegimes(Svg &svg, const Axis &x, double y, double height,
                        const Workload &work, const StepReport &report,
                        Efficiency efficiency) {
  const Memory memory = memoryOf(work, report.cluster, report.step);
  const double most = memory.tokensPerWaferMost;
  const double needed =
      breakEven(work, report.cluster, report.step, efficiency);
  const std::string who = absl::StrFormat(
      "%s, eta %g, beta %g: %.0f tokens hide the stream, a wafer holds %.0f",
      work.name, efficiency.eta, efficiency.beta, needed, most);
  const double split = x.at(std::min(needed, most)), full = x.at(most);
  svg.box(x.begin, y, split - x.begin, height, colorOf(Regime::Stream), who);
  svg.box(split, y, full - split, height, colorOf(Regime::Compute), who);
  // More tokens than a wafer holds come in several passes.
  svg.box(full, y, x.end - full, height,
          needed <= most ? "#aec7e8" : colorOf(Regime::Memory), who);
}

static void drawLegend(Svg &svg, double x, double y) {
  const std::pair<std::string, const char *> entries[] = {
      {colorOf(Regime::Stream), "stream: too few tokens per wafer"},
      {colorOf(Regime::Compute), "compute"},
      {"#aec7e8", "compute, in several passes"},
      {colorOf(Regime::Memory), "memory: SRAM holds too few tokens"}};
  for (const auto &[color, name] : entries) {
    svg.box(x, y - 10, 12, 12, color, name);
    svg.text(x + 16, y, name);
    x += 30 + 6.6 * double(std::string(name).size());
  }
}

std::string regimeMap(const StepReport &report) {
  std::vector<Workload> rows;
  for (const presets::ModelShape &shape : presets::allPresets())
    if (shape.architecture == presets::Architecture::Decoder && shape.batch > 0)
      rows.push_back(presets::workloadOf(shape));
  const bool isPreset =
      std::any_of(rows.begin(), rows.end(), [&](const Workload &each) {
        return each.name == report.work.name;
      });
  if (!isPreset)
    rows.push_back(report.work);
  std::sort(rows.begin(), rows.end(), [](const Workload &a, const Workload &b) {
    return std::tie(a.parameters, a.name) < std::tie(b.parameters, b.name);
  });
  constexpr double rowHeight = 34, top = 70, left = 130, right = 870;
  const double bottom = top + rowHeight * double(rows.size());
  Svg svg(900, bottom + 60);
  const Axis x{64, 4.2e6, left, right};
  svg.text(left, 24,
           "Regimes of weight streaming: an estimate, not a measurement",
           "start", "font-size='15'");
  drawLegend(svg, left, 48);
  const Estimate &first = report.estimates.front();
  const double here = first.tokensPerWafer * double(first.microbatches);
  double y = top;
  for (const Workload &work : rows) {
    const bool own = work.name == report.work.name;
    svg.text(left - 8, y + 18, work.name, "end",
             own ? "font-weight='bold'" : "");
    drawRegimes(svg, x, y + 3, 13, work, report, {measuredEta, idealBeta});
    drawRegimes(svg, x, y + 17, 13, work, report, {idealEta, idealBeta});
    if (own)
      svg.dot(x.at(here), y + 16.5, "black",
              absl::StrFormat("this step: %.0f tokens per wafer", here));
    y += rowHeight;
  }
  for (double tokens = 64; tokens <= 4.2e6; tokens *= 4) {
    svg.line(x.at(tokens), top, x.at(tokens), bottom, "stroke='white'");
    svg.text(x.at(tokens), bottom + 18, absl::StrFormat("%.0f", tokens),
             "middle");
  }
  svg.text((left + right) / 2, bottom + 38,
           "tokens per wafer and step; of each model eta 0.22 above, 1 below; "
           "the dot is this step",
           "middle");
  return svg.take();
}

//===----------------------------------------------------------------------===//
// Step time over systems
//===----------------------------------------------------------------------===//

namespace {
struct Series {
  std::string name, color;
  std::vector<std::pair<const ScaleReport::Row *, const Estimate *>> points;
};
} // namespace

static std::vector<Series> seriesOf(const ScaleReport &report) {
  static const char *const colors[] = {"#1f77b4", "#17becf", "#ff7f0e",
                                       "#bcbd22"};
  std::vector<Series> all;
  for (size_t i = 0; i < report.efficiencies.size(); ++i) {
    Series series{absl::StrFormat("eta %g, beta %g", report.efficiencies[i].eta,
                                  report.efficiencies[i].beta),
                  colors[i % 4],
                  {}};
    for (const ScaleReport::Row &row : report.rows)
      if (row.problem.empty())
        series.points.emplace_back(&row, &row.estimates[i]);
    all.push_back(std::move(series));
  }
  return all;
}

static void drawSeries(Svg &svg, const Series &series, const Axis &x,
                       const Axis &y, double nameAt) {
  const std::string stroke =
      absl::StrFormat("stroke='%s' stroke-width='2'", series.color);
  const std::string dashes = absl::StrFormat(
      "stroke='%s' stroke-dasharray='3 4' opacity='0.6'", series.color);
  const auto &[firstRow, first] = series.points.front();
  const auto &[lastRow, last] = series.points.back();
  // What the first point becomes if systems only share the work.
  svg.line(
      x.at(double(firstRow->systems)), y.at(first->step),
      x.at(double(lastRow->systems)),
      y.at(first->step * double(firstRow->systems) / double(lastRow->systems)),
      dashes);
  for (size_t i = 0; i < series.points.size(); ++i) {
    const auto &[row, e] = series.points[i];
    const double px = x.at(double(row->systems)), py = y.at(e->step);
    if (i > 0)
      svg.line(x.at(double(series.points[i - 1].first->systems)),
               y.at(series.points[i - 1].second->step), px, py, stroke);
    svg.dot(px, py, series.color,
            absl::StrFormat("%d systems: %.3g s, efficiency %.1f %%, %s",
                            row->systems, e->step, 100 * e->scaling,
                            nameOf(e->regime)));
  }
  svg.box(620, nameAt - 10, 12, 12, series.color, series.name);
  svg.text(638, nameAt, series.name);
}

std::string scaleChart(const ScaleReport &report) {
  const std::vector<Series> all = seriesOf(report);
  double low = INFINITY, high = 0, least = INFINITY, most = 1;
  for (const Series &series : all)
    for (const auto &[row, e] : series.points) {
      low = std::min({low, e->step});
      high = std::max(high, e->step);
      least = std::min(least, double(row->systems));
      most = std::max(most, double(row->systems));
    }
  constexpr double left = 80, right = 780, top = 60, bottom = 460;
  Svg svg(820, 520);
  const Axis x{least, std::max(most, least * 2), left, right};
  const Axis y{std::pow(10, std::floor(std::log10(low))),
               std::pow(10, std::floor(std::log10(high)) + 1), bottom, top};
  svg.text(left, 24,
           absl::StrFormat("%s, %d sequences per step: an estimate, not a "
                           "measurement",
                           report.work.name, report.step.batch),
           "start", "font-size='15'");
  for (double tick = y.from; tick <= y.to * 1.001; tick *= 10) {
    svg.line(left, y.at(tick), right, y.at(tick), grid);
    svg.text(left - 8, y.at(tick) + 4, absl::StrFormat("%g s", tick), "end");
  }
  for (const ScaleReport::Row &row : report.rows) {
    const double at = x.at(double(row.systems));
    if (!row.problem.empty())
      continue;
    svg.line(at, top, at, bottom, grid);
    svg.text(at, bottom + 18, absl::StrCat(row.systems), "middle");
    svg.text(at, bottom + 32, row.note, at > right - 40 ? "end" : "middle",
             "font-size='10'");
  }
  double nameAt = top + 16;
  for (const Series &series : all) {
    drawSeries(svg, series, x, y, nameAt);
    nameAt += 18;
  }
  svg.text((left + right) / 2, bottom + 52,
           "systems; step time; dashes: work shared without loss", "middle");
  return svg.take();
}

} // namespace wsec::estimate
