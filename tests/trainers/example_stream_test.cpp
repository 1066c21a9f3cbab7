// Minibatches of a stream: those of the order, over passes and from any location on, and errors at their examples.
#include "trainers/example_stream.h"

#include <algorithm>
#include <atomic>

#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

/// Rows of one float32, the row's number; some cannot be read. Counts what is read in another order than that of the
/// rows.
class Numbers : public RowSource {
 public:
  void read(int64_t first, int64_t count, std::byte* out) const override {
    for (int64_t i = first; i < first + count; ++i) {
      if (i == bad) throw file_error("x.bin", str("row ", i, " is not there"));
      reinterpret_cast<float*>(out)[i - first] = static_cast<float>(i);
    }
    ++reads;
    if (first != end.exchange(first + count)) ++jumps;
  }
  std::atomic<int64_t> bad = -1;
  mutable std::atomic<int64_t> reads = 0, jumps = 0, end = 0;
};

struct Data {
  std::shared_ptr<Numbers> numbers = std::make_shared<Numbers>();
  Split split;
  explicit Data(int64_t size) {
    Tensor y = Tensor::zeros(DType::kInt64, {size});
    split = Split({.raw = outline(k32, {size, 1}), .source = numbers, .origin = "x.bin"}, {.raw = y, .origin = "y.bin"},
                  Targets::kClasses, 1);
  }
  ExampleStream stream(bool shuffled, int64_t window) const { return {split, {1}, k32, shuffled, window}; }
};

std::vector<int64_t> rows_of(const Batch& batch) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < batch.x.size(); ++i) out.push_back(static_cast<int64_t>(batch.x.as_double(i)));
  return out;
}

std::vector<int64_t> pass_of(ExampleStream& stream, int64_t count, int64_t batch, int64_t from = 0) {
  std::vector<int64_t> out;
  for (int64_t start = from; start < count; start += batch)
    for (int64_t row : rows_of(stream.at(start, std::min(batch, count - start)))) out.push_back(row);
  return out;
}

TEST(ExampleStream, EveryPassIsThatOfTheOrder) {
  Data data(103);
  for (int64_t window : {0, 1, 8, 40, 103, 500})
    for (int64_t count : {103, 100}) {
      SCOPED_TRACE(str("window ", window, ", ", count, " examples"));
      ExampleStream stream = data.stream(true, window);
      stream.set_plan({count, 10});
      RandomState random(1), expected(1);
      for (int pass = 0; pass < 5; ++pass) {
        stream.begin_pass(random);
        std::vector<int64_t> order = draw_order(expected, 103, window).examples;
        EXPECT_EQ(random.state(), expected.state());
        order.resize(static_cast<size_t>(count));
        EXPECT_EQ(pass_of(stream, count, 10), order);
      }
    }
}

TEST(ExampleStream, InOrderOverPasses) {
  Data data(35);
  ExampleStream stream = data.stream(false, 0);
  stream.set_plan({30, 10});
  std::vector<int64_t> expected(30);
  for (size_t i = 0; i < 30; ++i) expected[i] = static_cast<int64_t>(i);
  for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(pass_of(stream, 30, 10), expected);
}

// Two processes share the shards of each minibatch; the second one of 3 begins within the last, shorter minibatch too.
TEST(ExampleStream, PartsAreThoseOfTheOrder) {
  Data data(103);
  for (int64_t window : {0, 1, 8, 40, 500})
    for (int64_t from : {0, 30})
      for (const ShardRange& shards : {ShardRange{4, 0, 2}, ShardRange{4, 2, 4}, ShardRange{16, 5, 6}}) {
        SCOPED_TRACE(str("window ", window, ", from ", from, ", shards from ", shards.first));
        ExampleStream stream = data.stream(true, window);
        const ExampleStream::Plan plan{.count = 103, .batch = 10, .shards = shards};
        stream.set_plan(plan);
        RandomState random(1), expected(1);
        for (int pass = 0; pass < 3; ++pass) {
          stream.begin_pass(random);
          const std::vector<int64_t> order = draw_order(expected, 103, window).examples;
          for (int64_t start = pass == 0 ? from : 0; start < 103; start += 10)
            for (int64_t shard = shards.first; shard < shards.last; ++shard) {
              const int64_t length = std::min<int64_t>(10, 103 - start), count = shards.length_of(shard, length);
              if (count == 0) continue;
              const auto first = order.begin() + start + shards.begin_of(shard, length);
              EXPECT_EQ(rows_of(stream.at(start + shards.begin_of(shard, length), count)),
                        std::vector<int64_t>(first, first + count));
            }
        }
      }
}

TEST(ExampleStream, APassMayBeginBehindTheFirstExample) {
  Data data(35);
  ExampleStream stream = data.stream(false, 0);
  stream.set_plan({.count = 35, .batch = 10, .begin = 20});
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(rows_of(stream.at(20, 10)).front(), 20);
    EXPECT_EQ(rows_of(stream.at(30, 5)), (std::vector<int64_t>{30, 31, 32, 33, 34}));
  }
}

// As a resumed run begins.
TEST(ExampleStream, BeginsAnywhereInAPass) {
  Data data(103);
  for (int64_t window : {0, 8, 40, 500})
    for (int64_t from : {0, 10, 50, 100}) {
      SCOPED_TRACE(str("window ", window, ", from ", from));
      ExampleStream stream = data.stream(true, window);
      stream.set_plan({103, 10});
      RandomState random(4), expected(4);
      for (int pass = 0; pass < 3; ++pass) {
        stream.begin_pass(random);
        std::vector<int64_t> order = draw_order(expected, 103, window).examples;
        order.erase(order.begin(), order.begin() + from);
        EXPECT_EQ(pass_of(stream, 103, 10, from), order);
      }
    }
}

TEST(ExampleStream, AnotherOrderThanTheNextIsTaken) {
  Data data(103);
  ExampleStream stream = data.stream(true, 16);
  stream.set_plan({103, 10});
  RandomState random(1), other(9), expected(9);
  stream.begin_pass(random);
  pass_of(stream, 103, 10);
  stream.begin_pass(other);
  EXPECT_EQ(pass_of(stream, 103, 10), draw_order(expected, 103, 16).examples);
  stream.begin_pass(other);
  rows_of(stream.at(0, 10));
  stream.begin_pass(other);  // before its end
  draw_order(expected, 103, 16);
  EXPECT_EQ(pass_of(stream, 103, 10), draw_order(expected, 103, 16).examples);
}

// What a window is for: between passes too, the file is read by blocks.
TEST(ExampleStream, AWindowReadsTheFileByBlocks) {
  Data data(4000);
  ExampleStream stream = data.stream(true, 800);
  stream.set_plan({4000, 20});
  RandomState random(1);
  for (int pass = 0; pass < 4; ++pass) {
    stream.begin_pass(random);
    pass_of(stream, 4000, 20);
  }
  EXPECT_LE(data.numbers->jumps, 5 * 40) << "40 blocks a pass, and what is read ahead";
  EXPECT_GE(data.numbers->reads, 4 * 4000 / 20 / 2);
}

TEST(ExampleStream, AnErrorComesWhenItsRowIsTaken) {
  for (int64_t window : {0, 16, 200}) {
    Data data(103);
    ExampleStream stream = data.stream(true, window);
    stream.set_plan({103, 10});
    RandomState random(2), expected(2);
    stream.begin_pass(random);
    const std::vector<int64_t> order = draw_order(expected, 103, window).examples;
    data.numbers->bad = order[57];
    for (int64_t start = 0; start < 50; start += 10) EXPECT_EQ(rows_of(stream.at(start, 10))[0], order[start]);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(error_text([&] { stream.at(50, 10); }), str("error: x.bin: row ", order[57], " is not there"));
    EXPECT_EQ(rows_of(stream.at(60, 10))[0], order[60]);
    data.numbers->bad = -1;
    EXPECT_EQ(rows_of(stream.at(50, 10))[7], order[57]);
  }
}

TEST(ExampleStream, WhatFitsNoPlanIsReadAlone) {
  Data data(103);
  ExampleStream stream = data.stream(false, 0);
  stream.set_plan({103, 10});
  EXPECT_EQ(rows_of(stream.at(7, 3)), (std::vector<int64_t>{7, 8, 9}));
  EXPECT_EQ(rows_of(stream.at(101, 2)), (std::vector<int64_t>{101, 102}));
  EXPECT_EQ(rows_of(stream.at(100, 3)), (std::vector<int64_t>{100, 101, 102}));
  EXPECT_EQ(rows_of(stream.at(0, 10)).size(), 10u);
}

}  // namespace
}  // namespace thtrain
