// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's file formats: .npy (one array) and .npz (a zip archive of them).
#ifndef RUNTIME_HOST_NPY_H
#define RUNTIME_HOST_NPY_H

#include "runtime/host/HostTensor.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Tensors by name, in the order of the file.
using NamedTensors = std::vector<std::pair<std::string, HostTensor>>;

/// Called before a tensor's elements are read; throws what speaks against it.
using AcceptTensor = std::function<void(const std::string &name, DataType type,
                                        const std::vector<int64_t> &shape)>;

/// What a .npy file says of the elements that follow.
struct NpyHeader {
  DataType type = DataType::Float32;
  std::vector<int64_t> shape;
  bool fortran = false;
  uint64_t start = 0; ///< of the elements, in bytes
  uint64_t bytes = 0; ///< of the elements
};
constexpr uint64_t longestNpyHeader = 1 << 16;

/// Reads the header of a file of which `size` bytes are there, enough for it.
/// Throws BadTensor.
NpyHeader parseNpyHeader(const uint8_t *data, uint64_t size,
                         const std::string &name);
/// Throws BadTensor unless `found` bytes of elements are there.
void requireElements(const NpyHeader &header, uint64_t found,
                     const std::string &name);
/// Elements in the order of the file. Fortran order is turned into row-major.
HostTensor makeTensor(const NpyHeader &header, std::vector<uint8_t> elements);

/// The array in `size` bytes of .npy; `name` is for messages. Throws BadTensor.
HostTensor parseNpy(const uint8_t *data, uint64_t size,
                    const std::string &name);
/// The bytes of a .npy file.
std::string formatNpy(const HostTensor &tensor);

/// The arrays in `size` bytes of .npz, stored or deflated. No elements are
/// inflated before the tensor is accepted.
NamedTensors parseNpz(const uint8_t *data, uint64_t size,
                      const std::string &name, const AcceptTensor &accept);
/// The bytes of a .npz file, stored. Same tensors, same bytes. Throws BadTensor
/// for a name that no archive can have: one that is no UTF-8 or there twice.
std::string formatNpz(const NamedTensors &tensors);

HostTensor readNpy(const std::string &path);
NamedTensors readNpz(const std::string &path, const AcceptTensor &accept);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_NPY_H
