// Random typed programs through vmap, with the gradients in them: each row of what it gives is what the program gives
// of that row, within the bounds of both; some of them by native code too. THTRAIN_FUZZ_SEED and THTRAIN_FUZZ_CASES
// make a longer run of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "compiler/api.h"
#include "compiler/ops/bounded.h"
#include "tests/fuzz/judged_programs.h"

namespace thtrain::random_vmap_test {
namespace {

// Rows of one leaf: the elements begin elsewhere in each, those of a scalar are other numbers.
std::vector<Tensor> rows_like(const Tensor& value, int64_t rows) {
  std::vector<Tensor> out;
  const size_t bytes = size_of(value.dtype());
  for (int64_t row = 0; row < rows; ++row) {
    if (value.size() == 1) {
      const double x = value.as_double();
      const double other = is_bool(value.dtype())  ? (row % 2 ? 1 - x : x)
                           : is_int(value.dtype()) ? static_cast<double>((static_cast<int64_t>(x) + row) % 3)
                                                   : x * (1 - 0.25 * static_cast<double>(row));
      out.push_back(Tensor::of(std::vector{other}, {1}).cast(value.dtype()).reshape(value.shape()));
      continue;
    }
    Tensor turned = value.copy();
    const auto* from = static_cast<const char*>(value.raw());
    const auto at = static_cast<size_t>(row % std::max<int64_t>(value.size(), 1)) * bytes;
    std::rotate_copy(from, from + at, from + value.bytes(), static_cast<char*>(turned.raw()));
    out.push_back(turned);
  }
  return out;
}

Tensor stacked(const std::vector<Tensor>& rows) {
  Shape shape = rows[0].shape();
  shape.insert(shape.begin(), static_cast<int64_t>(rows.size()));
  Tensor out = Tensor::empty(rows[0].dtype(), shape);
  for (size_t i = 0; i < rows.size(); ++i)
    std::memcpy(static_cast<char*>(out.raw()) + i * rows[i].bytes(), rows[i].raw(), rows[i].bytes());
  return out;
}

Tensor row_of(const Tensor& all, int64_t row) {
  return all
      .view({all.shape().begin() + 1, all.shape().end()}, {all.strides().begin() + 1, all.strides().end()},
            row * all.strides()[0])
      .copy();
}

// A plan, which of its leaves vary, and their rows.
class MappedPlan {
 public:
  explicit MappedPlan(const ProgramPlan& given) : plan_(with_inputs_alone(given)) {
    std::mt19937_64 random(plan_.seed);
    rows_ = 1 + static_cast<int64_t>(random() % 4);
    is_named_ = random() % 3 == 0;
    const size_t always = random() % plan_.leaves.size();
    for (size_t i = 0; i < plan_.leaves.size(); ++i) {
      varies_.push_back(random() % 2 == 0 || i == always);
      values_.push_back(rows_like(plan_.calls[0][i].contiguous(), varies_[i] ? rows_ : 1));
    }
    // Those whose lengths an element decides cannot be results.
    const BuiltProgram built = build(plan_);
    std::erase_if(plan_.outputs, [&](size_t index) { return is_data_dependent(built.values[index].dims()); });
  }

  bool has_outputs() const { return !plan_.outputs.empty(); }
  int64_t rows() const { return rows_; }
  std::string text() const {
    std::string out;
    for (size_t i = 0; i < varies_.size(); ++i)
      if (varies_[i]) out += str(out.empty() ? "" : ", ", "x", i);
    return str("vmap over ", rows_, is_named_ ? " rows, whose number a call tells, of " : " rows of ", out, ": ");
  }

  BuiltProgram one() const { return build(plan_); }
  BuiltProgram all() const {
    BuiltProgram out;
    std::vector<Expr> leaves;
    std::vector<Operand> varying;
    for (size_t i = 0; i < plan_.leaves.size(); ++i) {
      Type type = plan_.leaves[i].type;
      if (varies_[i]) type.dims.insert(type.dims.begin(), is_named_ ? Dim("rows") : Dim(rows_));
      leaves.push_back(make_input(type, str("x", i)));
      out.inputs.push_back(leaves.back());
      if (varies_[i]) varying.push_back(leaves.back());
    }
    const auto outputs_of = [&](const std::vector<Expr>& elements) {
      std::vector<Expr> given = leaves, results;
      for (size_t i = 0, next = 0; i < given.size(); ++i)
        if (varies_[i]) given[i] = elements[next++];
      const std::vector<Expr> values = values_on(plan_, given);
      for (size_t index : plan_.outputs) results.push_back(values[index]);
      return results;
    };
    for (const Expr& output : vmap(outputs_of, varying)) out.outputs.push_back(output);
    return out;
  }

  std::vector<Tensor> inputs_of_row(int64_t row) const {
    std::vector<Tensor> out;
    for (size_t i = 0; i < values_.size(); ++i) out.push_back(values_[i][varies_[i] ? static_cast<size_t>(row) : 0]);
    return out;
  }
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> out;
    for (size_t i = 0; i < values_.size(); ++i) out.push_back(varies_[i] ? stacked(values_[i]) : values_[i][0]);
    return out;
  }

 private:
  ProgramPlan plan_;
  int64_t rows_;
  bool is_named_;
  std::vector<bool> varies_;
  std::vector<std::vector<Tensor>> values_;  // of each leaf its rows, or the one value
};

std::vector<Bounded> bounded_outputs(const BuiltProgram& built, const std::vector<Tensor>& inputs) {
  const ProgramCase c = case_of(built, inputs);
  BoundedEvaluator bounded(c.leaves, c.lengths, Infinities::kUnknown);
  std::vector<Bounded> out;
  for (const Expr& output : c.canonical.graph.outputs) out.push_back(bounded(output));
  return out;
}

std::string unlike_rows(const MappedPlan& mapped, const BuiltProgram& one, const std::vector<Bounded>& all) {
  for (int64_t row = 0; row < mapped.rows(); ++row) {
    const std::vector<Bounded> expected = bounded_outputs(one, mapped.inputs_of_row(row));
    for (size_t i = 0; i < all.size(); ++i) {
      const Bounded got{row_of(all[i].value, row), row_of(all[i].error, row)};
      if (got.value.shape() != expected[i].value.shape())
        return str("output ", i, " is ", got.value.type_text(), ", of one row ", expected[i].value.type_text());
      if (auto where = beyond_bounds(got, expected[i]))
        return str("row ", row, " of output ", i, " is another one than of the row alone, at ", *where);
    }
  }
  return "";
}

std::optional<std::string> unlike_a_loop(const ProgramPlan& plan, bool with_native) {
  try {
    const MappedPlan mapped(plan);
    if (!mapped.has_outputs()) return std::nullopt;
    const BuiltProgram one = mapped.one();
    for (int64_t row = 0; row < mapped.rows(); ++row) bounded_outputs(one, mapped.inputs_of_row(row));
    BuiltProgram all;
    try {
      all = mapped.all();
      const std::vector<Bounded> values = bounded_outputs(all, mapped.inputs());
      if (std::string where = unlike_rows(mapped, one, values); !where.empty()) return mapped.text() + where;
      if (!with_native) return "";
      const ProgramCase c = case_of(all, mapped.inputs());
      Function f = compiled(all, Mode::kNative);
      const CalledProgram native = call(f, all, mapped.inputs());
      if (!native.user_error.empty()) return mapped.text() + native.user_error;
      std::vector<Tensor> reference;
      for (const Bounded& value : values) reference.push_back(value.value);
      if (std::string where = apart(all, c, reference, native.values); !where.empty()) return mapped.text() + where;
    } catch (const UserError& error) {
      const std::string text = error.what();
      if (text.starts_with("error: vmap: the data of each element decides a length")) return std::nullopt;
      return mapped.text() + text;
    }
  } catch (const UserError&) {
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(RandomVmap, IsTheProgramOfEachRow) {
  fuzz_programs(fuzz_settings(1, 100), unlike_a_loop);
}

}  // namespace
}  // namespace thtrain::random_vmap_test
