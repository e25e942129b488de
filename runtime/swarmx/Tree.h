// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_SWARMX_TREE_H
#define RUNTIME_SWARMX_TREE_H

#include <string>
#include <vector>

namespace wsec::runtime {

/// The tree between the parameter store and the wafers of `systems` systems.
/// Its nodes join up to four: systems 0 to 3, 4 to 7 and so on at level 1,
/// nodes of level 1 at level 2, until one is left, which the store feeds.
///
///   7 systems, depth 2:      store
///                              |
///                           node 2.0
///                          /        \
///                    node 1.0      node 1.1
///                     / | | \       / | \
///                    0  1 2  3     4  5  6
///
/// There are ceil(systems / 4) + ceil(systems / 16) + ... + 1 nodes: 5 for 16,
/// 21 for 64, 64 for 192. One system alone hangs on the store.
///
/// Members are the systems, 0 to systems - 1, then the nodes, level by level.
/// Each has one edge upwards, which bears its number.
class Tree {
public:
  static constexpr unsigned fanOut = 4;

  /// At least one system.
  explicit Tree(unsigned systems);

  unsigned systems() const { return counts.front(); }
  unsigned nodes() const { return members() - systems(); }
  /// Nodes that a word passes on its way: ceil(log4(systems)).
  unsigned depth() const { return unsigned(counts.size()) - 1; }
  unsigned members() const { return starts.back(); }
  /// The member that the store feeds.
  unsigned top() const { return members() - 1; }
  bool isSystem(unsigned member) const { return member < systems(); }
  /// 0: a system.
  unsigned level(unsigned member) const;
  /// Not of `top`.
  unsigned parent(unsigned member) const;
  std::vector<unsigned> children(unsigned member) const;
  /// The systems below, half open; of a system itself.
  std::pair<unsigned, unsigned> below(unsigned member) const;
  /// "system 3", "node 1.0".
  std::string name(unsigned member) const;

private:
  std::vector<unsigned> counts; ///< of members, by level
  std::vector<unsigned> starts; ///< first member of each level, and their end
};

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_TREE_H
