// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_FACTS_NAMEDBUFFERS_H
#define RUNTIME_PROGRAM_FACTS_NAMEDBUFFERS_H

#include "runtime/program/check/CheckerWork.h"
#include "runtime/program/check/Where.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace wsec::runtime {

/// The buffers of all classes, by name: what a rectangle of PEs, which may lie
/// in several classes, has of a name.
class NamedBuffers {
public:
  explicit NamedBuffers(const program::Program &program);

  using Visit =
      std::function<void(const program::PEClass &, const program::Buffer &)>;
  /// Calls `visit` for each class that some PEs of the rectangle belong to and
  /// that has the buffer; returns how many PEs these are. Throws BadProgram if
  /// a class has two of the name.
  int64_t visit(const flatbuffers::String &name, const program::Rect &rect,
                CheckerWork &work, const Where &where,
                const Visit &visit) const;
  /// "; there is 'x'".
  std::string nearest(const flatbuffers::String &name) const;

private:
  std::multimap<std::string_view,
                std::pair<const program::PEClass *, const program::Buffer *>>
      buffers;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_NAMEDBUFFERS_H
