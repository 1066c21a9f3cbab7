// NumPy's einsum, by contractions of two operands at a time.
#include <algorithm>
#include <bit>
#include <cctype>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/contraction.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {
namespace {

constexpr size_t kMostForBestOrder = 6;
constexpr double kUnknownLength = 64;

// Letters are their own names; the axes of "..." are -1 for the last, -2 for the one before it, and so on.
class Einsum {
 public:
  Einsum(const std::string& subscripts, const std::vector<Operand>& operands, const std::source_location& called)
      : text_(subscripts) {
    if (operands.empty()) fail_build(called, str("einsum: there is no operand for \"", text_, "\""));
    where_ = operands[0].where();
    origin_ = Origin::here(where_);
    const InheritOrigin inherit(origin_);
    for (const Operand& operand : operands) add_value(operand.expr());
    parse();
    check_lengths();
  }

  Expr run() {
    const InheritOrigin inherit(origin_);
    std::vector<Labelled> left = operands_;
    if (left.size() > kMostForBestOrder)
      multiply_by_cheapest(left);
    else
      left = {best(left)};
    return ordered(summed(left[0], output_), output_).value;
  }

 private:
  [[noreturn]] void fail(std::string what, std::string expected, std::string hint = {}) const {
    std::string got = str('"', text_, '"');
    for (size_t i = 0; i < values_.size(); ++i) got += str(i ? ", " : " of ", value_text(values_[i]));
    fail_build(where_, "einsum: " + std::move(what), std::move(expected), std::move(got), std::move(hint));
  }

  void add_value(const Expr& value) {
    values_.push_back(value);
    const std::optional<DType> common = promote(values_[0].dtype(), value.dtype());
    if (!common) return;
    for (Expr& each : values_)
      if (each.dtype() != *common) each = cast({each, where_}, *common);
  }

  // Letters, with the axes of "..." in their places.
  std::vector<int> letters(const std::string& term, int ellipsis) const {
    std::vector<int> out;
    for (size_t i = 0; i < term.size(); ++i) {
      if (std::isalpha(static_cast<unsigned char>(term[i]))) {
        out.push_back(term[i]);
      } else if (term.compare(i, 3, "...") == 0 && term.find("...", i + 1) == std::string::npos) {
        for (int axis = -ellipsis; axis < 0; ++axis) out.push_back(axis);
        i += 2;
      } else {
        fail(str("what is '", term[i], "'?"), "letters, \"...\" once in an operand, commas and \"->\"");
      }
    }
    return out;
  }

  void parse() {
    std::string text;
    std::copy_if(text_.begin(), text_.end(), std::back_inserter(text), [](char c) { return c != ' '; });
    const size_t arrow = text.find("->");
    const std::string inputs = text.substr(0, arrow);
    std::vector<std::string> terms = {""};
    for (char c : inputs) {
      if (c == ',')
        terms.emplace_back();
      else
        terms.back() += c;
    }
    if (terms.size() != values_.size())
      fail(str(terms.size(), " terms for ", values_.size(), " operands"), "a term for each operand");
    int most_of_ellipsis = 0;
    std::map<int, int> uses;
    for (size_t i = 0; i < terms.size(); ++i) {
      const int named = static_cast<int>(letters(terms[i], 0).size()), rank = static_cast<int>(values_[i].rank());
      const bool has_ellipsis = terms[i].find("...") != std::string::npos;
      if (named > rank || (!has_ellipsis && named != rank))
        fail(str("\"", terms[i], "\" is for ", named, " axes, and the operand has ", rank), "a letter for each axis",
             has_ellipsis ? "" : "\"...\" are axes without a letter");
      most_of_ellipsis = std::max(most_of_ellipsis, has_ellipsis ? rank - named : 0);
      const std::vector<int> labels = letters(terms[i], rank - named);
      for (int label : labels) ++uses[label];
      operands_.push_back(without_repeats({values_[i], labels}));
    }
    if (arrow != std::string::npos) {
      output_ = letters(text.substr(arrow + 2), most_of_ellipsis);
      if (std::set<int>(output_.begin(), output_.end()).size() != output_.size())
        fail("the result has a letter twice", "different letters");
      for (int label : output_)
        if (!uses.contains(label)) fail("the result has a letter that no operand has", "letters of operands");
      return;
    }
    for (const auto& [label, count] : uses)
      if (label < 0 || count == 1) output_.push_back(label);
  }

  // A name that an operand has twice is its diagonal.
  Labelled without_repeats(Labelled x) const {
    for (size_t i = 0; i < x.labels.size(); ++i)
      for (size_t j = i + 1; j < x.labels.size();) {
        if (x.labels[i] != x.labels[j]) {
          ++j;
          continue;
        }
        const Dim &m = x.value.dims()[i], &n = x.value.dims()[j];
        if (m.is_known() && n.is_known() && m != n)
          fail(str("the letter ", static_cast<char>(x.labels[i]), " is of the lengths ", m.value(), " and ", n.value()),
               "equal lengths");
        std::vector<int64_t> order = {static_cast<int64_t>(i), static_cast<int64_t>(j)};
        std::vector<int> labels = {x.labels[i]};
        for (size_t k = 0; k < x.labels.size(); ++k)
          if (k != i && k != j) {
            order.push_back(static_cast<int64_t>(k));
            labels.push_back(x.labels[k]);
          }
        Dims lengths = x.value.dims();
        lengths[j] = lengths[i];
        x.value = specify_lengths(x.value, lengths, "einsum");
        const Expr numbers = arange(length(x.value, static_cast<int64_t>(i)));
        x = {gather(transpose(x.value, order), {numbers, numbers}), labels};
        return without_repeats(x);
      }
    return x;
  }

  void check_lengths() {
    for (const Labelled& x : operands_)
      for (size_t i = 0; i < x.labels.size(); ++i) {
        const Dim& length = x.value.dims()[i];
        if (!length.is_known() || length.is(1)) continue;
        const auto [at, is_first] = lengths_.try_emplace(x.labels[i], length.value());
        if (!is_first && at->second != length.value())
          fail(str(x.labels[i] < 0 ? std::string("an axis of \"...\"")
                                   : str("the letter ", static_cast<char>(x.labels[i])),
                   " is of the lengths ", at->second, " and ", length.value()),
               "equal lengths, or 1");
      }
  }

  double elements(const std::set<int>& labels) const {
    double out = 1;
    for (int label : labels) {
      const auto at = lengths_.find(label);
      out *= at == lengths_.end() ? kUnknownLength : static_cast<double>(at->second);
    }
    return out;
  }

  // What is kept of the product of two, where those others are still to come.
  std::vector<int> kept(const Labelled& a, const Labelled& b, const std::vector<const Labelled*>& others) const {
    std::set<int> needed(output_.begin(), output_.end()), seen;
    for (const Labelled* other : others) needed.insert(other->labels.begin(), other->labels.end());
    std::vector<int> out;
    if (others.empty()) return output_;
    for (const Labelled* x : {&a, &b})
      for (int label : x->labels)
        if (needed.contains(label) && seen.insert(label).second) out.push_back(label);
    return out;
  }

  // Operations of multiplying two.
  double cost(const std::vector<int>& a, const std::vector<int>& b) const {
    std::set<int> labels(a.begin(), a.end());
    labels.insert(b.begin(), b.end());
    return elements(labels);
  }

  // All of them, in the best order: of each subset the cheapest two parts.
  Labelled best(const std::vector<Labelled>& all) const {
    struct Part {
      double cost = 0;
      uint32_t left = 0;
      std::vector<int> labels;
    };
    const uint32_t every = (1u << all.size()) - 1;
    std::vector<Part> parts(every + 1);
    auto labels_of = [&](uint32_t subset) {
      std::set<int> inside, outside(output_.begin(), output_.end());
      for (size_t i = 0; i < all.size(); ++i)
        (subset >> i & 1 ? inside : outside).insert(all[i].labels.begin(), all[i].labels.end());
      std::vector<int> out;
      std::set_intersection(inside.begin(), inside.end(), outside.begin(), outside.end(), std::back_inserter(out));
      return out;
    };
    for (uint32_t subset = 1; subset <= every; ++subset) {
      Part& part = parts[subset];
      part.labels = labels_of(subset);
      if ((subset & (subset - 1)) == 0) {
        part.labels = all[static_cast<size_t>(std::countr_zero(subset))].labels;
        continue;
      }
      part.cost = std::numeric_limits<double>::infinity();
      for (uint32_t left = (subset - 1) & subset; left > 0; left = (left - 1) & subset) {
        const Part &a = parts[left], &b = parts[subset ^ left];
        const double both = a.cost + b.cost + cost(a.labels, b.labels);
        if (both < part.cost) {
          part.cost = both;
          part.left = left;
        }
      }
    }
    const std::function<Labelled(uint32_t)> make = [&](uint32_t subset) -> Labelled {
      if ((subset & (subset - 1)) == 0) return all[static_cast<size_t>(std::countr_zero(subset))];
      uint32_t left = parts[subset].left, right = subset ^ left;
      if (std::countr_zero(right) < std::countr_zero(left)) std::swap(left, right);
      const Labelled a = make(left), b = make(right);
      std::vector<const Labelled*> others;
      for (size_t i = 0; i < all.size(); ++i)
        if (!(subset >> i & 1)) others.push_back(&all[i]);
      return contract(a, b, kept(a, b, others));
    };
    return make(every);
  }

  void multiply_by_cheapest(std::vector<Labelled>& left) const {
    while (left.size() > 1) {
      std::pair<size_t, size_t> at = {0, 1};
      for (size_t i = 0; i < left.size(); ++i)
        for (size_t j = i + 1; j < left.size(); ++j)
          if (cost(left[i].labels, left[j].labels) < cost(left[at.first].labels, left[at.second].labels)) at = {i, j};
      std::vector<const Labelled*> others;
      for (size_t i = 0; i < left.size(); ++i)
        if (i != at.first && i != at.second) others.push_back(&left[i]);
      const Labelled& a = left[at.first];
      const Labelled both = contract(a, left[at.second], kept(a, left[at.second], others));
      left[at.first] = both;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at.second));
    }
  }

  const std::string text_;
  std::source_location where_;
  Origin origin_;
  std::vector<Expr> values_;
  std::vector<Labelled> operands_;
  std::vector<int> output_;
  std::map<int, int64_t> lengths_;
};

}  // namespace

Expr einsum(const std::string& subscripts, const std::vector<Operand>& operands, std::source_location where) {
  return Einsum(subscripts, operands, where).run();
}

}  // namespace thtrain
