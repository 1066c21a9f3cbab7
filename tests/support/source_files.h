// Small files of the formats that data comes in.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/base/random_state.h"
#include "compiler/ir/tensor.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"
#include "tests/support/png_support.h"

namespace thtrain {

/// An IDX file of these bytes.
inline void write_idx(const Workshop& workshop, const std::string& name, const Tensor& bytes) {
  std::string text("\0\0\x8", 3);
  text += static_cast<char>(bytes.rank());
  for (int64_t length : bytes.shape())
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(length >> shift & 255);
  workshop.write(name, text + std::string(static_cast<const char*>(bytes.raw()), bytes.bytes()));
}

/// Some rows of 2x2 numbers and their labels 0, 1, 2, 0, ... (of which some are wrong: nothing is learned too well).
inline std::pair<Tensor, Tensor> small_arrays(int64_t rows, int64_t seed) {
  Tensor x = Tensor::empty(DType::kUInt8, {rows, 2, 2}), y = Tensor::empty(DType::kUInt8, {rows});
  RandomState random(seed);
  for (int64_t i = 0; i < rows; ++i) {
    y.data<uint8_t>()[i] = static_cast<uint8_t>(i % 3);
    for (int64_t j = 0; j < 4; ++j)
      x.data<uint8_t>()[4 * i + j] = static_cast<uint8_t>(random.integer(0, 2) + (j == i % 3 ? 1 : 0));
  }
  return {x, y};
}

/// Of 16 examples [2, 2] each, of classes 0, 1, 2, 0, ...: c.bin (CIFAR-10), l.txt (LIBSVM) and the folder p (PNG) of
/// `x`; of classes 0, 0, 1, 1, 2, 2, 0, ... c2.bin and l2.txt, and the folder p2, of `x2`.
inline void write_source_files(const Workshop& workshop, const Tensor& x, const Tensor& x2) {
  std::string records, records2, lines, lines2;
  for (int i = 0; i < 16; ++i) {
    records += static_cast<char>(i % 3) + std::string(3072, static_cast<char>(x.as_int(4 * i)));
    records2 += static_cast<char>((i / 2) % 3) + std::string(3072, static_cast<char>(x2.as_int(4 * i)));
    lines += str(i % 3, " 1:", x.as_int(4 * i), " 3:", x.as_int(4 * i + 1), '\n');
    lines2 += str((i / 2) % 3, " 1:", x2.as_int(4 * i), " 3:", x2.as_int(4 * i + 1), '\n');
    for (auto [folder, t] : {std::pair("p", &x), {"p2", &x2}}) {
      std::vector<uint8_t> pixels;
      for (int64_t j = 0; j < 4; ++j) pixels.push_back(static_cast<uint8_t>(40 * t->as_int(4 * i + j)));
      workshop.write(str(folder, "/c", i % 3, '/', 10 + i, ".png"), png_bytes(2, 2, pixels));
    }
  }
  workshop.write("c.bin", records);
  workshop.write("c2.bin", records2);
  workshop.write("l.txt", lines);
  workshop.write("l2.txt", lines2);
}

/// A file of every format, with 16 examples each, and first weights: the data of small experiments.
inline void write_data(const Workshop& workshop) {
  auto [x, y] = small_arrays(16, 1);
  auto [x2, y2] = small_arrays(16, 2);
  for (int64_t i = 0; i < 16; ++i) y2.data<uint8_t>()[i] = static_cast<uint8_t>((i / 2) % 3);
  write_npy(workshop.path("x.npy"), x);
  write_npy(workshop.path("y.npy"), y);
  write_npy(workshop.path("x2.npy"), x2);
  write_npy(workshop.path("y2.npy"), y2);
  write_npy(workshop.path("tx.npy"), x2.rows(0, 9));
  write_npy(workshop.path("ty.npy"), y.rows(0, 9));
  write_idx(workshop, "x.idx", x);
  write_idx(workshop, "y.idx", y);
  write_idx(workshop, "x2.idx", x2);
  write_idx(workshop, "y2.idx", y2);
  write_npy(workshop.path("w.npy"), x.reshape({64}).rows(0, 16));
  write_idx(workshop, "w.idx", x.reshape({64}).rows(0, 16));
  auto [digits, labels] = small_arrays(40, 3);
  write_idx(workshop, "mnist/train-images-idx3-ubyte", digits);
  write_idx(workshop, "mnist/train-labels-idx1-ubyte", labels);
  write_idx(workshop, "mnist/t10k-images-idx3-ubyte", digits.rows(0, 20));
  write_idx(workshop, "mnist/t10k-labels-idx1-ubyte", labels.rows(0, 20));
  write_source_files(workshop, x, x2);
  std::string table = "a,b,l\n", second = "a,b,l\n", numbers, any = "label,a;b\tlabel c;label\n";
  for (int i = 0; i < 16; ++i) {
    auto cell = [&](const Tensor& t, int64_t j) { return t.as_int(4 * i + j); };
    table += str(cell(x, 0), ',', cell(x, 1), ',', i % 3, '\n');
    second += str(cell(x2, 0), ',', cell(x2, 1), ',', (i / 2) % 3, '\n');
    numbers += str(i % 2, ',', cell(x, 1), ',', cell(x, 2), '\n');
  }
  workshop.write("t.csv", table);
  workshop.write("t2.csv", second);
  workshop.write("numbers.csv", numbers);
  workshop.write("missing.csv", "a,b,l\n?,1,0\n5,2,1\n" + table.substr(table.find('\n') + 1));
  workshop.write("any.csv", any);
  workshop.write("three.txt", "x\ny\nz\n");
  workshop.write("ten.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
  Tensor w = Tensor::empty(DType::kFloat32, {4, 3}), v = Tensor::empty(DType::kFloat32, {3, 3});
  for (int64_t i = 0; i < 12; ++i) w.data<float>()[i] = static_cast<float>(i) / 16;
  for (int64_t i = 0; i < 9; ++i) v.data<float>()[i] = static_cast<float>(9 - i) / 16;
  Tensor b = Tensor::zeros(DType::kFloat32, {3});
  write_npz(workshop.path("w.npz"), {{"dense1/W", w}, {"dense1/b", b}, {"softmax/W", v}, {"softmax/b", b}});
}

}  // namespace thtrain
