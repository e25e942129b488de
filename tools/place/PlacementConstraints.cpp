// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/place/PlacementConstraints.h"
#include "tools/place/LineCursor.h"

#include <fstream>
#include <map>

using namespace wsec;

namespace {
class ConstraintReader {
public:
  ConstraintReader(const std::string &file, const std::string &kind,
                   PlacementProblem &problem)
      : file(file), kind(kind), problem(problem) {
    for (size_t i = 0; i < problem.regions.size(); ++i)
      numbers[problem.regions[i].name] = i;
  }

  void read() {
    std::ifstream in(file);
    if (!in)
      throw std::runtime_error(file + ": cannot be read");
    std::string text;
    for (int64_t line = 1; std::getline(in, text); ++line) {
      const std::string content = text.substr(0, text.find('#'));
      LineCursor cursor(file, line, content);
      if (cursor.atEnd())
        continue;
      readLine(cursor);
      if (!cursor.atEnd())
        cursor.fail("more than expected on the line");
    }
    if (in.bad())
      throw std::runtime_error(file + ": cannot be read");
  }

private:
  void readLine(LineCursor &cursor) {
    const std::string word = cursor.word();
    if (word == "pin")
      readPin(cursor);
    else if (word == "keep_out")
      readKeepOut(cursor);
    else if (word == "near")
      readNear(cursor);
    else
      cursor.fail("expected pin, keep_out or near, found '" + word + "'");
  }

  size_t region(LineCursor &cursor, const std::string &name) {
    const auto found = numbers.find(kind + " " + name);
    if (found == numbers.end())
      cursor.fail("there is no " + kind + " " + name);
    return found->second;
  }

  PlacedOrigin pe(LineCursor &cursor) {
    cursor.expect("(");
    return restOfPe(cursor);
  }
  PlacedOrigin restOfPe(LineCursor &cursor) {
    const int64_t x = cursor.number(0, problem.width - 1, "x");
    cursor.expect(",");
    const int64_t y = cursor.number(0, problem.height - 1, "y");
    cursor.expect(")");
    return {x, y};
  }

  void readPin(LineCursor &cursor) {
    const std::string name = cursor.word();
    RegionRequest &its = problem.regions[region(cursor, name)];
    if (its.pin)
      cursor.fail(its.name + " is pinned already");
    cursor.expect("at");
    its.pin = pe(cursor);
  }

  void readKeepOut(LineCursor &cursor) {
    cursor.expect("shape");
    cursor.expect("(");
    const int64_t columns = cursor.number(1, problem.width, "its width", 'x');
    cursor.expect("x");
    const int64_t rows = cursor.number(1, problem.height, "its height");
    cursor.expect(")");
    cursor.expect("at");
    const PlacedOrigin at = pe(cursor);
    if (at.x + columns > problem.width || at.y + rows > problem.height)
      cursor.fail("it leaves the mesh of " + std::to_string(problem.width) +
                  "x" + std::to_string(problem.height));
    problem.keepOuts.push_back({at.x, at.y, columns, rows});
  }

  void readNear(LineCursor &cursor) {
    using Target = NearWish::Target;
    static const std::map<std::string, Target> sides = {
        {"north", Target::North},
        {"south", Target::South},
        {"east", Target::East},
        {"west", Target::West}};
    NearWish wish;
    wish.region = region(cursor, cursor.word());
    cursor.expect("to");
    if (cursor.take("(")) {
      wish.target = Target::Pe;
      wish.pe = restOfPe(cursor);
    } else {
      const std::string name = cursor.word();
      if (const auto side = sides.find(name); side != sides.end())
        wish.target = side->second;
      else
        wish.other = region(cursor, name);
      if (wish.target == Target::Region && wish.other == wish.region)
        cursor.fail("a " + kind + " is to lie near itself");
    }
    if (cursor.take("weight"))
      wish.weight = cursor.number(1, 1000, "a weight");
    problem.wishes.push_back(wish);
  }

  const std::string &file, &kind;
  PlacementProblem &problem;
  std::map<std::string, size_t> numbers; // of the regions
};
} // namespace

void wsec::readConstraints(const std::string &path, const std::string &kind,
                           PlacementProblem &problem) {
  ConstraintReader(path, kind, problem).read();
}
