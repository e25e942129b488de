// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader takes what the contest's files have: blanks and tabs anywhere,
// also inside brackets, several name= on a line (the last counts), comments
// (* ... *) over several lines, of which the first holds the header.
#include "tools/place/KernelGraph.h"
#include "tools/place/LineCursor.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>

using namespace wsec;

namespace {
/// Largest value of a field, and largest product of a convolution's: with them
/// times and memory are computed in whole numbers.
constexpr int64_t largestDimension = 65535;
constexpr double largestWork = double(int64_t(1) << 46);
/// Of the wafer.
constexpr int64_t largestExtent = 4096;

class Reader {
public:
  explicit Reader(const std::string &path) { graph.file = path; }

  KernelGraph read() {
    std::ifstream in(graph.file);
    if (!in)
      throw std::runtime_error(graph.file + ": cannot be read");
    std::string text;
    int64_t line = 0;
    bool comment = false;
    while (std::getline(in, text)) {
      LineCursor cursor(graph.file, ++line, text);
      if (!comment && cursor.take("(*"))
        comment = true;
      if (comment) {
        comment = text.find("*)") == std::string::npos;
        readHeader(cursor);
      } else if (!cursor.atEnd()) {
        readLine(cursor, line);
      }
    }
    if (in.bad())
      throw std::runtime_error(graph.file + ": cannot be read");
    if (comment)
      throw std::runtime_error(graph.file + ": no *) ends the comment");
    finish();
    return std::move(graph);
  }

private:
  /// A line of a comment, `key=value` or prose.
  void readHeader(LineCursor &cursor) {
    static const char *const keys[] = {"width",   "height",   "wdeltat",
                                       "wlength", "wadapter", "memlimit"};
    for (const char *key : keys) {
      LineCursor value = cursor;
      if (value.take(key) && value.take("=")) {
        const bool weight = key[0] == 'w' && key[1] != 'i';
        header[key] = value.number(weight ? 0 : 1, largestDimension, key);
        if (!value.atEnd() && !value.take("*)"))
          value.fail(std::string(key) + "= is followed by more than a number");
      }
    }
  }

  void readLine(LineCursor &cursor, int64_t line) {
    const std::string kind = cursor.word();
    const std::string node = kind + "[" + cursor.bracketed() + "]";
    if (cursor.take(":"))
      readEdge(cursor, node);
    else
      readNode(cursor, kind, node, line);
  }

  void readEdge(LineCursor &cursor, const std::string &from) {
    cursor.word(); // the port
    cursor.expect("->");
    const std::string kind = cursor.word();
    const std::string to = kind + "[" + cursor.bracketed() + "]";
    cursor.expect(":");
    cursor.word();
    const auto fromKernel = nodes.find(from), toKernel = nodes.find(to);
    if (fromKernel == nodes.end() || toKernel == nodes.end())
      cursor.fail("there is no node " +
                  (fromKernel == nodes.end() ? from : to) + " above");
    if (fromKernel->second && toKernel->second)
      graph.edges.push_back({*fromKernel->second, *toKernel->second});
  }

  void readNode(LineCursor &cursor, const std::string &kind,
                const std::string &node, int64_t line) {
    const bool place = kind != "input" && kind != "output";
    std::map<std::string, int64_t> fields;
    std::string name;
    while (!cursor.atEnd()) {
      const std::string key = cursor.word();
      cursor.expect("=");
      if (key == "name")
        name = cursor.quoted();
      else if (place)
        fields[key] = cursor.number(1, largestDimension, key);
      else
        cursor.bracketed();
    }
    if (name.empty())
      cursor.fail(node + " has no name='...'");
    if (!nodes.insert({node, std::nullopt}).second)
      cursor.fail("there is a node " + node + " already");
    if (!names.insert({name, line}).second)
      cursor.fail("the name '" + name + "' is taken by line " +
                  std::to_string(names[name]));
    if (!place)
      return;
    nodes[node] = graph.kernels.size();
    GraphKernel &kernel = graph.kernels.emplace_back();
    kernel.name = name;
    kernel.line = line;
    setLoops(kernel, kind, fields, cursor);
  }

  static int64_t field(std::map<std::string, int64_t> &fields,
                       const std::string &key, const LineCursor &cursor) {
    const auto found = fields.find(key);
    if (found == fields.end())
      cursor.fail("no " + key + "= is given");
    const int64_t value = found->second;
    fields.erase(found);
    return value;
  }

  static void setLoops(GraphKernel &kernel, const std::string &kind,
                       std::map<std::string, int64_t> &fields,
                       const LineCursor &cursor) {
    auto get = [&](const char *key) { return field(fields, key, cursor); };
    if (kind == "conv") {
      Convolution conv;
      conv.H = get("H"), conv.W = get("W");
      conv.R = get("R"), conv.S = get("S");
      conv.C = get("C"), conv.K = get("K");
      conv.stride = get("T");
      kernel.convolutions = {conv};
      kernel.fields = {conv.H, conv.W, conv.C,      conv.K,
                       conv.R, conv.S, conv.stride, get("U")};
    } else if (kind == "dblock" || kind == "cblock") {
      const int64_t f = get("f"), h = get("h"), w = get("w");
      kernel.fields = {h, w, f};
      if (f % 4)
        cursor.fail("f=" + std::to_string(f) + " is no multiple of 4");
      if (kind == "dblock") {
        kernel.kind = GraphKernel::Kind::DBlock;
        kernel.convolutions = {{h, w, 1, 1, f, f / 4, 1},
                               {h, w, 3, 3, f / 4, f / 4, 1},
                               {h, w, 1, 1, f / 4, f, 1}};
      } else {
        if (h % 2 || w % 2)
          cursor.fail("h and w of a cblock are even, found " +
                      std::to_string(h) + " and " + std::to_string(w));
        kernel.kind = GraphKernel::Kind::CBlock;
        kernel.convolutions = {{h, w, 1, 1, f / 2, f / 4, 1},
                               {h, w, 3, 3, f / 4, f / 4, 2},
                               {h / 2, w / 2, 1, 1, f / 4, f, 1},
                               {h, w, 1, 1, f / 2, f, 2}};
      }
    } else {
      cursor.fail("expected input, output, conv, dblock or cblock, found '" +
                  kind + "'");
    }
    if (!fields.empty())
      cursor.fail("a " + kind + " has no " + fields.begin()->first + "=");
    for (const Convolution &conv : kernel.convolutions)
      if (double(conv.H) * double(conv.W) * double(conv.C) * double(conv.K) *
              double(conv.R) * double(conv.S) >
          largestWork)
        cursor.fail("H x W x C x K x R x S is more than 2^46");
  }

  void finish() {
    auto get = [&](const char *key) {
      const auto found = header.find(key);
      if (found == header.end())
        throw std::runtime_error(graph.file + ": the header has no " + key +
                                 "=");
      return found->second;
    };
    graph.width = get("width"), graph.height = get("height");
    if (std::max(graph.width, graph.height) > largestExtent)
      throw std::runtime_error(
          graph.file + ": the wafer of " + std::to_string(graph.width) + "x" +
          std::to_string(graph.height) + " tiles is larger than 4096x4096");
    graph.timeWeight = double(get("wdeltat"));
    graph.wireWeight = double(get("wlength"));
    graph.adapterWeight = double(get("wadapter"));
    graph.memoryLimit = get("memlimit");
    if (graph.kernels.empty())
      throw std::runtime_error(graph.file + ": there is no kernel");
  }

  KernelGraph graph;
  std::map<std::string, int64_t> header;
  std::map<std::string, std::optional<size_t>> nodes; // kernels, if they are
  std::map<std::string, int64_t> names;               // line of each
};
} // namespace

KernelGraph wsec::readKernelGraph(const std::string &path) {
  return Reader(path).read();
}
