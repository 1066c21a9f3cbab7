// Terms that move bits and lanes, as kernels compute them at every width of vectors.
#include <gtest/gtest.h>

#include <bit>

#include "compiler/ir/compare.h"
#include "compiler/ir/variables.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/kernel/term.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "tests/support/native_program.h"

namespace thtrain {
namespace {

using kernel::Term;

std::vector<Target> runnable() {
  std::vector<Target> out = all_targets();
  std::erase_if(out, [](const Target& target) { return !why_not(target).empty(); });
  return out;
}

// What the kernel of `made` computes with these statements instead of its own.
Tensor run(const Expr& made, const std::vector<Expr>& inputs, const std::vector<Tensor>& values, const Target& target,
           const std::function<void(kernel::Code&)>& write) {
  NativeProgram program({inputs, {made}, {}}, target, false, [&](Program& p) {
    for (auto& item : p.body.items) {
      auto& call = std::get<kernel::KernelCall>(std::get<Step>(item).code);
      auto own = std::make_shared<kernel::Function>(*call.function);
      kernel::Code code;
      write(code);
      own->body = code.take();
      call.function = own;
    }
  });
  return program(values)[0];
}

Tensor counted(DType dtype, int64_t count, double first) {
  Tensor out = Tensor::empty(DType::kFloat64, {count});
  for (int64_t i = 0; i < count; ++i) out.data<double>()[i] = first + static_cast<double>(i);
  return out.cast(dtype);
}

TEST(Terms, BitCastKeepsTheBitsOfNumbersAndVectors) {
  const Expr x = tensor("x", {8}, DType::kFloat32);
  const Tensor values = Tensor::vector<float>({1, -1, 0.5f, -0.0f, 3e38f, 1e-45f, INFINITY, 7});
  for (const Target& target : runnable())
    for (int lanes : {1, 4}) {
      const Tensor got = run(cast(x, DType::kInt32), {x}, {values}, target, [&](kernel::Code& code) {
        code.loop("i", 0, 8, Term(lanes), kernel::LoopMark::kSequential, [&](Term i) {
          code.store("out0", i, 1, bit_cast(kernel::load("in0", DType::kFloat32, lanes, i, 1), DType::kInt32));
        });
      });
      for (int64_t i = 0; i < 8; ++i)
        EXPECT_EQ(got.data<int32_t>()[i], std::bit_cast<int32_t>(values.data<float>()[i])) << target.text();
    }
}

TEST(Terms, AVectorInARegisterIsTheSame) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Expr x = tensor("x", {32}, dtype);
    const Tensor values = counted(dtype, 32, -5);
    for (const Target& target : runnable())
      for (int lanes : {1, 2, 4, 8, 16, 32}) {
        const Tensor got = run(x, {x}, {values}, target, [&](kernel::Code& code) {
          code.loop("i", 0, 32, Term(lanes), kernel::LoopMark::kSequential, [&](Term i) {
            const Term at = kernel::in_register(i);
            code.store("out0", at, 1, kernel::in_register(kernel::load("in0", dtype, lanes, at, 1)));
          });
        });
        for (int64_t i = 0; i < 32; ++i)
          EXPECT_EQ(got.as_double(i), values.as_double(i)) << lanes << " of " << target.text();
      }
  }
}

// Sums of a tile, with registers of their own or without, are what variables hold; functions are called after they were
// taken.
TEST(Terms, SumsOfATileAreThoseOfVariables) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    for (const Target& target : runnable())
      for (int lanes : {1, target.vector_bytes / static_cast<int>(size_of(dtype))}) {
        const int64_t n = 12 * lanes;
        const Expr x = tensor("x", {n}, dtype);
        const Tensor values = counted(dtype, n, -1.7);
        auto computed = [&](bool in_registers) {
          return run(tanh(x), {x}, {values}, target, [&](kernel::Code& code) {
            std::vector<Term> sums;
            for (int64_t k = 0; k < 12; ++k) {
              const Term start = kernel::load("in0", dtype, lanes, Term(k * lanes), 1);
              sums.push_back(in_registers ? code.sum("s", start, k) : code.var("s", start));
            }
            code.loop("i", 0, 12, 1, kernel::LoopMark::kSequential, [&](Term i) {
              const Term a = code.let("a", kernel::load("in0", dtype, lanes, i * Term(lanes), 1) *
                                               kernel::splat(kernel::constant(dtype, 0.01), lanes));
              for (const Term& sum : sums)
                code.assign(sum, fma(a, kernel::splat(kernel::load("in0", dtype, 1, i, 1), lanes), sum));
            });
            if (in_registers)
              for (Term& sum : sums) sum = code.taken(sum);
            for (int64_t k = 0; k < 12; ++k)
              code.store("out0", Term(k * lanes), 1, kernel::math("tanh", {sums[static_cast<size_t>(k)]}));
          });
        };
        EXPECT_TRUE(same_bits(computed(true), computed(false))) << lanes << " of " << target.text();
      }
}

// For each n: the first n elements loaded, and stored over elevens. n is a literal, and what a loop counts.
TEST(Terms, TheFirstLanesAreLoadedAndStoredAlone) {
  constexpr int64_t kLanes = 8, kRow = 2 * kLanes;
  const auto row = [](DType dtype, kernel::Code& code, const Term& n, const Term& count) {
    code.store("out0", n * Term(kRow), 1, kernel::load("in0", dtype, kLanes, n, 1, count));
    code.store("out0", n * Term(kRow) + Term(kLanes), 1, kernel::load("in0", dtype, kLanes, 1, 0));
    code.store("out0", n * Term(kRow) + Term(kLanes), 1, kernel::load("in0", dtype, kLanes, 0, 1), count);
  };
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64, DType::kInt16})
    for (const Target& target : runnable())
      for (bool is_known : {true, false}) {
        const Expr x = tensor("x", {(kLanes + 1) * kRow}, dtype);
        const Tensor got = run(x, {x}, {counted(dtype, (kLanes + 1) * kRow, 10)}, target, [&](kernel::Code& code) {
          if (is_known)
            for (int64_t n = 0; n <= kLanes; ++n) row(dtype, code, n, n);
          else
            code.loop("n", 0, kLanes + 1, 1, kernel::LoopMark::kSequential,
                      [&](const Term& n) { row(dtype, code, n, n); });
        });
        for (int64_t n = 0; n <= kLanes; ++n)
          for (int64_t i = 0; i < kLanes; ++i) {
            EXPECT_EQ(got.as_double(n * kRow + i), static_cast<double>(i < n ? 10 + n + i : 1))
                << "loaded: " << n << " of " << name_of(dtype) << ", " << target.text();
            EXPECT_EQ(got.as_double(n * kRow + kLanes + i), static_cast<double>(i < n ? 10 + i : 11))
                << "stored: " << n << " of " << name_of(dtype) << ", " << target.text();
          }
      }
}

TEST(Terms, AnElementIsLoadedIntoAllLanes) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64, DType::kInt16})
    for (const Target& target : runnable())
      for (int lanes : {2, 4, 8, 16}) {
        const Expr x = tensor("x", {64}, dtype);
        const Tensor got = run(x, {x}, {counted(dtype, 64, 3)}, target, [&](kernel::Code& code) {
          code.loop("i", 0, 64, Term(lanes), kernel::LoopMark::kSequential,
                    [&](const Term& i) { code.store("out0", i, 1, kernel::load("in0", dtype, lanes, i, 0)); });
        });
        for (int64_t i = 0; i < 64; ++i)
          EXPECT_EQ(got.as_double(i), static_cast<double>(3 + i / lanes * lanes))
              << lanes << " of " << name_of(dtype) << ", " << target.text();
      }
}

TEST(Terms, BitsAreOfOneSize) {
  const Term x = kernel::variable("x", {DType::kFloat32, 1, 0});
  EXPECT_THROW(bit_cast(x, DType::kInt64), std::exception);
  EXPECT_THROW(bit_cast(x, DType::kBool), std::exception);
}

TEST(Terms, PairsComeApartAndTogether) {
  const Expr a = tensor("a", {8}, DType::kFloat64), b = tensor("b", {8}, DType::kFloat64);
  const Tensor low = counted(DType::kFloat64, 8, 0), high = counted(DType::kFloat64, 8, 8);
  struct Row {
    Term (*of)(Term, Term);
    Tensor expected;
  };
  const std::vector<Row> rows{{kernel::even_lanes, Tensor::vector<double>({0, 2, 4, 6, 8, 10, 12, 14})},
                              {kernel::odd_lanes, Tensor::vector<double>({1, 3, 5, 7, 9, 11, 13, 15})},
                              {kernel::zip_low, Tensor::vector<double>({0, 8, 1, 9, 2, 10, 3, 11})},
                              {kernel::zip_high, Tensor::vector<double>({4, 12, 5, 13, 6, 14, 7, 15})}};
  for (const Target& target : runnable())
    for (const Row& row : rows) {
      const Tensor got = run(a + b, {a, b}, {low, high}, target, [&](kernel::Code& code) {
        const auto whole = [](const char* buffer) { return kernel::load(buffer, DType::kFloat64, 8, 0, 1); };
        code.store("out0", 0, 1, row.of(whole("in0"), whole("in1")));
      });
      EXPECT_TRUE(same_bits(got, row.expected)) << got.text() << " by " << target.text();
    }
}

// Six times the same eight locations: by 2, 4 and 8 lanes, without and with a last lane that does not exist.
TEST(Terms, AGatherLoadsTheElementsAtItsIndices) {
  const std::vector<int64_t> locations{3, 0, 0, 9, 5, 1, 2, 8};
  const std::vector<std::pair<int, bool>> ways{{2, false}, {2, true}, {4, false}, {4, true}, {8, false}, {8, true}};
  const Expr at = tensor("at", {48}, DType::kInt64);
  Tensor indices = Tensor::empty(DType::kInt64, {48});
  for (size_t i = 0; i < 48; ++i) indices.data<int64_t>()[i] = locations[i % 8];
  const auto write = [&](DType dtype, kernel::Code& code) {
    for (size_t w = 0; w < ways.size(); ++w) {
      const auto [lanes, padded] = ways[w];
      const auto first = static_cast<int64_t>(8 * w);
      code.loop("i", first, first + 8, Term(lanes), kernel::LoopMark::kSequential, [&](Term i) {
        const Term from = kernel::load("in1", DType::kInt64, lanes, i, 1);
        code.store("out0", i, 1, kernel::gather("in0", dtype, from, padded ? Term(lanes - 1) : Term()));
      });
    }
  };
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt16})
    for (const Target& target : runnable()) {
      const Expr x = tensor("x", {10}, dtype);
      const Tensor got = run(take(x, at), {x, at}, {counted(dtype, 10, 100), indices}, target, [&](kernel::Code& code) {
                           write(dtype, code);
                         }).cast(DType::kFloat64);
      for (size_t i = 0; i < 48; ++i) {
        const auto [lanes, padded] = ways[i / 8];
        const bool exists = !padded || static_cast<int>(i) % lanes != lanes - 1;
        EXPECT_EQ(got.data<double>()[i], exists ? 100 + static_cast<double>(locations[i % 8]) : 1)
            << name_of(dtype) << ", " << lanes << " lanes, " << target.text();
      }
    }
}

TEST(Terms, AMaskIsReducedToWhetherAnyOrAllLanesAreTrue) {
  const Expr x = tensor("x", {16}, DType::kFloat32);
  for (const Target& target : runnable())
    for (int64_t location = 0; location < 16; ++location) {
      Tensor values = Tensor::zeros(DType::kFloat32, {16});
      values.data<float>()[location] = 1;
      const Tensor got = run(x * 2.0, {x}, {values}, target, [&](kernel::Code& code) {
        const Term mask = kernel::load("in0", DType::kFloat32, 16, 0, 1) > kernel::constant(DType::kFloat32, 0.5);
        const auto number = [](double value) { return kernel::constant(DType::kFloat32, value); };
        code.store("out0", 0, 1, select(reduce_lanes("or", mask), number(3), number(4)));
        code.store("out0", 1, 1, select(reduce_lanes("and", mask), number(3), number(4)));
        code.store("out0", 2, 1, select(reduce_lanes("and", !mask), number(3), number(4)));
      });
      EXPECT_EQ(got.data<float>()[0], 3) << location;
      EXPECT_EQ(got.data<float>()[1], 4) << location;
      EXPECT_EQ(got.data<float>()[2], 4) << location;
    }
}

}  // namespace
}  // namespace thtrain
