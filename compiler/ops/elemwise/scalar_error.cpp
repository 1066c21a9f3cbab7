#include "compiler/ops/elemwise/scalar_error.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/error_rules.h"

namespace thtrain {
namespace {

// The elements of one input, side by side for every element of the result.
struct Column {
  std::vector<double> value, error;
  bool is_exact = true;
};

// Calls visit(k, i): element k of the result reads element i of `from`.
template <class F>
void for_each_source(const Shape& shape, const Shape& from, F visit) {
  const int64_t n = element_count(shape);
  if (from == shape) {
    for (int64_t k = 0; k < n; ++k) visit(k, k);
    return;
  }
  const size_t lead = shape.size() - from.size();
  const Shape strides = row_major_strides(from);
  int64_t k = 0;
  for_each_index(shape, [&](const Shape& at) {
    int64_t i = 0;
    for (size_t axis = 0; axis < from.size(); ++axis)
      if (from[axis] != 1) i += at[lead + axis] * strides[axis];
    visit(k++, i);
  });
}

Column column(const Tensor& value, const Tensor& error, const Shape& shape) {
  Column out;
  const size_t n = static_cast<size_t>(element_count(shape));
  out.value.resize(n);
  out.error.assign(n, 0);
  out.is_exact = all_zero(error);
  visit(value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = value.data<T>();
    for_each_source(shape, value.shape(), [&](int64_t k, int64_t i) {
      if constexpr (is_complex_v<T>)
        out.value[static_cast<size_t>(k)] = static_cast<double>(std::abs(x[i]));
      else
        out.value[static_cast<size_t>(k)] = static_cast<double>(x[i]);
    });
  });
  if (!out.is_exact)
    for_each_source(shape, error.shape(),
                    [&](int64_t k, int64_t i) { out.error[static_cast<size_t>(k)] = error.data<double>()[i]; });
  return out;
}

DType wide(DType dtype) {
  return dtype == DType::kFloat32 ? DType::kFloat64 : dtype;
}

// The largest change of an op's value among the corners of its inputs' errors, in float64.
class Corners {
 public:
  Corners(const ErrorArgs& args, const std::vector<Column>& columns, const Shape& shape)
      : record_(*args.node.op->scalar), args_(args), columns_(columns), shape_(shape) {
    std::vector<DType> dtypes;
    for (const Expr& input : args.node.inputs) dtypes.push_back(wide(input.dtype()));
    Props props = args.node.props;
    for (const auto& [name, value] : args.node.props.all())
      if (const DType* dtype = std::get_if<DType>(&value)) props.set(name, wide(*dtype));
    signature_ = record_.signature(dtypes, props);
  }

  std::vector<std::vector<double>> changes() const {
    const size_t n = static_cast<size_t>(element_count(shape_));
    std::vector<std::vector<double>> out(args_.outputs.size(), std::vector<double>(n, 0));
    if (!signature_) {
      for (std::vector<double>& change : out) std::fill(change.begin(), change.end(), kUnknownError);
      return out;
    }
    size_t moved = 0;
    for (size_t i = 0; i < columns_.size(); ++i)
      if (!columns_[i].is_exact) moved |= size_t(1) << i;
    const std::vector<Tensor> centre = values(std::nullopt);
    for (size_t corner = 0; corner < size_t(1) << columns_.size(); ++corner) {
      if ((corner & ~moved) != 0) continue;
      const std::vector<Tensor> there = values(corner);
      for (size_t o = 0; o < out.size(); ++o) enlarge(out[o], centre[o], there[o]);
    }
    forget_where_inputs_are_unknown(out);
    return out;
  }

 private:
  Tensor at_corner(size_t input, bool up) const {
    const Column& c = columns_[input];
    Tensor out = Tensor::empty(DType::kFloat64, shape_);
    const bool is_bool_input = is_bool(args_.node.inputs[input].dtype());
    for (size_t k = 0; k < c.value.size(); ++k) {
      const double x = c.value[k], e = c.error[k];
      double& to = out.data<double>()[k];
      if (e == 0)
        to = x;
      else if (is_bool_input)
        to = up ? 1 : 0;
      else  // an error below a step of float64 is one
        to = up ? x + std::max(e, std::abs(x) * 0x1p-51) : x - std::max(e, std::abs(x) * 0x1p-51);
    }
    return out;
  }

  // At a corner, of which bit i says in which direction input i is moved; without one, at x itself.
  std::vector<Tensor> values(std::optional<size_t> corner) const {
    std::vector<Tensor> inputs, outputs;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (size_t i = 0; i < columns_.size(); ++i) {
      Tensor x;
      if (!corner || columns_[i].is_exact) {
        x = Tensor::empty(DType::kFloat64, shape_);
        std::copy(columns_[i].value.begin(), columns_[i].value.end(), x.data<double>());
      } else {
        x = at_corner(i, (*corner >> i & 1) != 0);
      }
      inputs.push_back(x.cast(signature_->inputs[i]));
      in.push_back(inputs.back().raw());
    }
    for (DType dtype : signature_->outputs) {
      outputs.push_back(Tensor::zeros(dtype, shape_));
      out.push_back(outputs.back().raw());
    }
    record_.reference(*signature_, in, out, element_count(shape_));
    return outputs;
  }

  static void enlarge(std::vector<double>& change, const Tensor& centre, const Tensor& there) {
    const Tensor x = centre.cast(DType::kFloat64), y = there.cast(DType::kFloat64);
    for (size_t k = 0; k < change.size(); ++k) {
      const double a = x.data<double>()[k], b = y.data<double>()[k];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double distance = std::abs(a - b);
      change[k] = std::isnan(distance) ? kUnknownError : std::max(change[k], distance);
    }
  }

  void forget_where_inputs_are_unknown(std::vector<std::vector<double>>& out) const {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const DType dtype = args_.node.inputs[i].dtype();
      if (columns_[i].is_exact || is_bool(dtype)) continue;
      for (size_t k = 0; k < columns_[i].error.size(); ++k)
        if (std::isinf(columns_[i].error[k]) || (is_int(dtype) && columns_[i].error[k] > 0))
          for (std::vector<double>& change : out) change[k] = kUnknownError;
    }
  }

  const ScalarOp& record_;
  const ErrorArgs& args_;
  const std::vector<Column>& columns_;
  const Shape& shape_;
  std::optional<Signature> signature_;
};

class Rule {
 public:
  Rule(const ErrorArgs& args, Infinities infinities)
      : args_(args), record_(*args.node.op->scalar), infinities_(infinities), shape_(args.outputs[0].shape()) {
    for (size_t i = 0; i < args.inputs.size(); ++i) columns_.push_back(column(args.inputs[i], args.errors[i], shape_));
    for (const Column& c : columns_) is_exact_ = is_exact_ && c.is_exact;
    for (const Expr& input : args.node.inputs) is_complex_ = is_complex_ || is_complex(input.dtype());
    for (const Type& type : args.node.types) is_complex_ = is_complex_ || is_complex(type.dtype);
  }

  std::vector<Tensor> run() {
    std::vector<Tensor> out;
    for (size_t o = 0; o < args_.outputs.size(); ++o) out.push_back(args_.make_error(o));
    if (!is_exact_) spread(out);
    for (size_t o = 0; o < out.size(); ++o) {
      const DType dtype = args_.outputs[o].dtype();
      if (!is_float(dtype) && !is_complex(dtype)) continue;
      round(args_.outputs[o], out[o]);
      bound_infinities(args_.outputs[o], out[o]);
    }
    return out;
  }

 private:
  void spread(std::vector<Tensor>& out) {
    const bool by_formula = record_.spread && args_.outputs.size() == 1 && (!is_complex_ || record_.spreads_moduli);
    if (!by_formula && is_complex_) {
      for (Tensor& error : out) std::fill_n(error.data<double>(), error.size(), kUnknownError);
    } else if (by_formula) {
      const Tensor y = is_complex_ ? magnitudes(args_.outputs[0]) : args_.outputs[0].cast(DType::kFloat64).contiguous();
      const double* of = y.data<double>();
      double *to = out[0].data<double>(), x[3], e[3];
      for (size_t k = 0, n = static_cast<size_t>(out[0].size()); k < n; ++k) {
        for (size_t i = 0; i < columns_.size(); ++i) x[i] = columns_[i].value[k], e[i] = columns_[i].error[k];
        const double error = record_.spread(x, e, of[k]);
        to[k] = std::isnan(error) ? kUnknownError : error;
      }
    } else {
      const std::vector<std::vector<double>> changes = Corners(args_, columns_, shape_).changes();
      for (size_t o = 0; o < out.size(); ++o) std::copy(changes[o].begin(), changes[o].end(), out[o].data<double>());
    }
  }

  void round(const Tensor& value, Tensor& error) const {
    const FloatLimits limits = float_limits(value.dtype());
    const double count = is_complex_ && record_.complex_ulps > 0 ? 2 * (record_.complex_ulps + 1)
                         : record_.rounding == Rounding::kExact  ? 0
                         : record_.ulps > 0                      ? 2 * (record_.ulps + 1)
                         : is_complex_                           ? 16
                                                                 : 1;
    if (count == 0) return;
    const Tensor sizes = magnitudes(value);
    const double* size = sizes.data<double>();
    double* e = error.data<double>();
    const bool converts = record_.rounding == Rounding::kConverts && !is_complex_;
    for (int64_t k = 0, n = value.size(); k < n; ++k) {
      if (converts && size[k] == std::abs(columns_[0].value[static_cast<size_t>(k)])) continue;
      if (!std::isfinite(size[k])) continue;
      const double terms = record_.terms ? record_.terms(columns_[0].value[static_cast<size_t>(k)]) : 0;
      const double of = std::isfinite(terms) ? std::max(size[k], terms) : size[k];
      e[k] = e[k] * (1 + count * limits.unit) + count * (limits.unit * of + limits.tiny);
    }
  }

  struct Seen {
    bool is_exact = true, is_finite = true, has_nan = false, has_exact_infinity = false, others_are_away = true;
    bool overflowed = false;  // the second is one
  };
  Seen seen(size_t k) const {
    Seen out;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const double x = columns_[i].value[k], e = columns_[i].error[k];
      out.is_exact = out.is_exact && e == 0;
      out.is_finite = out.is_finite && std::isfinite(x);
      out.has_nan = out.has_nan || (std::isnan(x) && e == 0);
      out.has_exact_infinity = out.has_exact_infinity || (std::isinf(x) && e == 0);
      out.others_are_away = out.others_are_away && (std::abs(x) > e || e == 0);
      out.overflowed = out.overflowed || (i == 1 && std::isinf(x) && std::isinf(e));
    }
    return out;
  }

  void bound_infinities(const Tensor& value, Tensor& error) const {
    const Tensor sizes = magnitudes(value);
    const FloatLimits limits = float_limits(value.dtype());
    for (int64_t k = 0, n = value.size(); k < n; ++k) {
      const double y = sizes.data<double>()[k];
      double& e = error.data<double>()[k];
      if (std::isfinite(y) && (y != 0 || infinities_ == Infinities::kUnknown)) continue;
      const Seen inputs = seen(static_cast<size_t>(k));
      if (y == 0) {
        // 1 / (a number too large to hold) is 0, and nearly right.
        if (inputs.overflowed && std::isfinite(columns_[0].error[static_cast<size_t>(k)]))
          e = (std::abs(columns_[0].value[static_cast<size_t>(k)]) + columns_[0].error[static_cast<size_t>(k)]) /
              limits.largest;
      } else if (infinities_ == Infinities::kUnknown) {
        e = kUnknownError;
      } else if (infinities_ == Infinities::kKnown) {
        // What finite numbers overflow to is a number of any size.
        if (std::isinf(y) && (inputs.is_finite || !inputs.is_exact)) e = kUnknownError;
      } else {
        const bool near_overflow =
            std::isinf(y) && inputs.is_finite && (is_complex_ ? record_.complex_ulps : record_.ulps) > 0;
        const bool is_known = (inputs.is_exact && !near_overflow) || (std::isnan(y) && inputs.has_nan && e == 0) ||
                              (std::isinf(y) && inputs.has_exact_infinity && inputs.others_are_away);
        e = is_known ? 0 : kUnknownError;
      }
    }
  }

  const ErrorArgs& args_;
  const ScalarOp& record_;
  const Infinities infinities_;
  const Shape& shape_;
  std::vector<Column> columns_;
  bool is_exact_ = true, is_complex_ = false;
};

}  // namespace

std::vector<Tensor> elementwise_error(const ErrorArgs& args, Infinities infinities) {
  return Rule(args, infinities).run();
}

}  // namespace thtrain
