// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wsec.h for C++17: what it opens is closed, and what is wrong is thrown. All
// of it is here; a program links what a program in C does.
#ifndef RUNTIME_LIBRARY_WSEC_HPP
#define RUNTIME_LIBRARY_WSEC_HPP

#include "wsec.h"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace wsec {

/// "BadTensor: input 'x' is ...".
class Error : public std::runtime_error {
public:
  Error() : std::runtime_error(wsec_error()), its(wsec_error_class()) {}
  /// E.g. "BadTensor".
  const std::string &kind() const { return its; }

private:
  std::string its;
};

/// The type of elements that are T in C++; of others there is no constant.
template <class T>
constexpr wsec_type typeOf = [] {
  if constexpr (std::is_same_v<T, float>)
    return WSEC_FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return WSEC_FLOAT64;
  else if constexpr (std::is_same_v<T, bool>)
    return WSEC_BOOL;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return std::is_signed_v<T> ? WSEC_INT64 : WSEC_UINT64;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return std::is_signed_v<T> ? WSEC_INT32 : WSEC_UINT32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
    return std::is_signed_v<T> ? WSEC_INT16 : WSEC_UINT16;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
    return std::is_signed_v<T> ? WSEC_INT8 : WSEC_UINT8;
  else
    static_assert(!sizeof(T), "a tensor has no elements of this type");
}();

struct TensorType {
  std::string name;
  wsec_type type;
  std::vector<int64_t> shape;
};

/// What persistent buffers hold; goes to any session of the program.
using State = std::shared_ptr<const wsec_state>;

using Arguments = std::vector<std::pair<std::string, int64_t>>;

/// A program on an emulated wafer, for calls that follow one another.
class Session {
public:
  explicit Session(const std::string &path,
                   const std::vector<std::string> &weights = {},
                   const std::string &engine = "burst", unsigned threads = 0) {
    std::vector<const char *> folders;
    for (const std::string &folder : weights)
      folders.push_back(folder.c_str());
    const wsec_options options{folders.data(), folders.size(), engine.c_str(),
                               threads};
    its.reset(wsec_open(path.c_str(), &options));
    if (!its)
      throw Error();
  }

  std::vector<TensorType> inputs() const { return all(wsec_input); }
  std::vector<TensorType> outputs() const { return all(wsec_output); }
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    while (const char *name = wsec_entry(its.get(), names.size()))
      names.push_back(name);
    return names;
  }

  /// Gives an input, which stays until it is given anew.
  template <class T>
  void bind(const std::string &name, const std::vector<int64_t> &shape,
            const std::vector<T> &data) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no data");
    bind(name, typeOf<T>, shape, data.data(), data.size() * sizeof(T));
  }
  void bind(const std::string &name, wsec_type type,
            const std::vector<int64_t> &shape, const void *data, size_t bytes) {
    const wsec_tensor tensor{name.c_str(), type, shape.size(),
                             shape.data(), data, bytes};
    require(wsec_bind(its.get(), &tensor));
  }

  void call(const std::string &entry = "", const Arguments &arguments = {}) {
    std::vector<wsec_argument> values;
    for (const auto &[name, value] : arguments)
      values.push_back({name.c_str(), value});
    require(wsec_call(its.get(), entry.c_str(), values.data(), values.size()));
  }

  /// An output, of the last call that wrote it; throws std::invalid_argument
  /// where its elements are no T.
  template <class T>
  std::vector<T> fetch(const std::string &name) {
    const wsec_tensor tensor = fetch(name);
    if (tensor.type != typeOf<T>)
      throw std::invalid_argument("output '" + name + "' has another type");
    std::vector<T> data(tensor.bytes / sizeof(T));
    if (tensor.bytes)
      std::memcpy(data.data(), tensor.data, tensor.bytes);
    return data;
  }
  /// Where it lies until it is fetched again.
  wsec_tensor fetch(const std::string &name) {
    wsec_tensor tensor;
    require(wsec_fetch(its.get(), name.c_str(), &tensor));
    return tensor;
  }

  wsec_counts counts() const {
    wsec_counts made;
    require(wsec_count(its.get(), &made));
    return made;
  }
  std::string report(bool asJson = false) {
    const char *text = wsec_report(its.get(), asJson);
    if (!text)
      throw Error();
    return text;
  }

  State state() const {
    wsec_state *kept = wsec_keep(its.get());
    if (!kept)
      throw Error();
    return State(kept, [](const wsec_state *it) {
      wsec_free(const_cast<wsec_state *>(it));
    });
  }
  void restore(const State &state) {
    require(wsec_restore(its.get(), state.get()));
  }
  void save(const std::string &path) const {
    require(wsec_save(its.get(), path.c_str()));
  }
  void load(const std::string &path) {
    require(wsec_load(its.get(), path.c_str()));
  }
  void clear() { wsec_clear(its.get()); }

private:
  static void require(int failed) {
    if (failed)
      throw Error();
  }
  std::vector<TensorType> all(const wsec_tensor *(*of)(const wsec_session *,
                                                       size_t)) const {
    std::vector<TensorType> types;
    while (const wsec_tensor *tensor = of(its.get(), types.size()))
      types.push_back({tensor->name,
                       tensor->type,
                       {tensor->shape, tensor->shape + tensor->rank}});
    return types;
  }

  struct Close {
    void operator()(wsec_session *session) const { wsec_close(session); }
  };
  std::unique_ptr<wsec_session, Close> its;
};

} // namespace wsec

#endif // RUNTIME_LIBRARY_WSEC_HPP
