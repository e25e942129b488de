// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model with weights in its own file, called twice.
// Usage: perceptron PROGRAM.WAFER FOLDER_OF_WEIGHTS X Y
#include <wsec.hpp>

#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>

int main(int, char **argv) {
  wsec::Session session(argv[1], {argv[2]});
  for (const wsec::TensorType &input : session.inputs()) {
    std::cout << input.name;
    for (const int64_t extent : input.shape)
      std::cout << ' ' << extent;
    std::cout << '\n';
  }
  std::ifstream file(argv[3], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> x(bytes.size() / sizeof(float));
  std::memcpy(x.data(), bytes.data(), bytes.size());

  session.bind("x", {6, 12}, x);
  session.call();
  const std::vector<float> y = session.fetch<float>("y");
  session.call();
  if (session.fetch<float>("y") != y)
    return 1;
  std::ofstream(argv[4], std::ios::binary)
      .write(reinterpret_cast<const char *>(y.data()),
             std::streamsize(y.size() * sizeof(float)));
  std::cout << "cycles " << std::llround(session.counts().cycles) << '\n';
  try {
    session.bind("x", {12}, std::vector<double>(12));
  } catch (const wsec::Error &error) {
    std::cout << error.kind() << ": " << error.what() << '\n';
  }
  try {
    session.fetch<int>("y");
  } catch (const std::invalid_argument &error) {
    std::cout << error.what() << '\n';
  }
  try {
    wsec::Session none(argv[1], {}, "fast");
  } catch (const wsec::Error &error) {
    std::cout << error.what() << '\n';
  }
}
