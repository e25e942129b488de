// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/swarmx/Tree.h"

#include <gtest/gtest.h>
#include <set>

namespace wsec::runtime {
namespace {

TEST(TreeTest, CountsNodesAndDepthOfFourToOneTrees) {
  struct {
    unsigned systems, nodes, depth;
  } const published[] = {{1, 0, 0},  {2, 1, 1},  {4, 1, 1},   {5, 3, 2},
                         {16, 5, 2}, {17, 8, 3}, {64, 21, 3}, {192, 64, 4}};
  for (const auto &[systems, nodes, depth] : published) {
    EXPECT_EQ(Tree(systems).nodes(), nodes) << systems;
    EXPECT_EQ(Tree(systems).depth(), depth) << systems;
  }
}

TEST(TreeTest, JoinsEachMemberToOneParent) {
  for (unsigned systems = 1; systems <= 192; ++systems) {
    const Tree tree(systems);
    std::set<unsigned> seen{tree.top()};
    for (unsigned node = systems; node < tree.members(); ++node) {
      unsigned at = tree.below(node).first;
      EXPECT_LE(tree.children(node).size(), Tree::fanOut);
      for (unsigned child : tree.children(node)) {
        EXPECT_TRUE(seen.insert(child).second);
        EXPECT_EQ(tree.parent(child), node);
        EXPECT_EQ(tree.level(child) + 1, tree.level(node));
        EXPECT_EQ(tree.below(child).first, at);
        at = tree.below(child).second;
      }
      EXPECT_EQ(tree.below(node).second, at);
    }
    EXPECT_EQ(seen.size(), tree.members());
    EXPECT_EQ(tree.below(tree.top()), std::pair(0u, systems));
  }
}

TEST(TreeTest, NamesMembers) {
  const Tree tree(7);
  EXPECT_EQ(tree.name(6), "system 6");
  EXPECT_EQ(tree.name(8), "node 1.1");
  EXPECT_EQ(tree.name(tree.top()), "node 2.0");
}

} // namespace
} // namespace wsec::runtime
