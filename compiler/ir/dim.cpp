#include "compiler/ir/dim.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "compiler/base/error.h"
#include "compiler/base/origin.h"

namespace thtrain {

// A name (call empty), or one of the three functions of two lengths.
struct Dim::Atom {
  std::string call;
  std::string name;
  std::vector<Dim> args;
  std::string text;
  std::shared_ptr<const Node> definer = nullptr;
};

namespace {
using Monomial = std::vector<std::string>;  // atoms' texts, sorted; empty is the constant term

// Sizes beyond 2^63 wrap around: costs of what is never stored. A call and the planner ask whether what they allocate
// fits.
int64_t sum_of(int64_t a, int64_t b) {
  __builtin_add_overflow(a, b, &a);
  return a;
}
int64_t product_of(int64_t a, int64_t b) {
  __builtin_mul_overflow(a, b, &a);
  return a;
}

int64_t floor_div_number(int64_t a, int64_t b) {
  TH_CHECK(b != 0, "a length is divided by zero");
  int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}
}  // namespace

struct Dim::Sum {
  std::map<Monomial, int64_t> terms;                         // coefficients, none of them 0
  std::map<std::string, std::shared_ptr<const Atom>> atoms;  // by text
  std::string text;
};

Dim Dim::from(Sum sum) {
  std::erase_if(sum.terms, [](const auto& term) { return term.second == 0; });
  if (sum.terms.empty()) return Dim(int64_t{0});
  if (sum.terms.size() == 1 && sum.terms.begin()->first.empty()) return Dim(sum.terms.begin()->second);
  // The constant is last: "n - 1".
  std::string text;
  auto append = [&](const Monomial& atoms, int64_t coefficient) {
    bool negative = coefficient < 0;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    uint64_t size = negative ? 0 - static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    std::string product = join(atoms, "*");
    if (product.empty())
      product = std::to_string(size);
    else if (size != 1)
      product = str(size, "*", product);
    text += product;
  };
  for (const auto& [atoms, coefficient] : sum.terms)
    if (!atoms.empty()) append(atoms, coefficient);
  if (auto constant = sum.terms.find({}); constant != sum.terms.end()) append({}, constant->second);
  sum.text = std::move(text);
  Dim out;
  out.sum_ = std::make_shared<const Sum>(std::move(sum));
  return out;
}

Dim Dim::atom(Atom atom) {
  atom.text = atom.call.empty() ? atom.name : str(atom.call, "(", atom.args[0].text(), ", ", atom.args[1].text(), ")");
  Sum sum;
  sum.terms[{atom.text}] = 1;
  std::string text = atom.text;
  sum.atoms[text] = std::make_shared<const Atom>(std::move(atom));
  return from(std::move(sum));
}

Dim::Sum Dim::sum() const {
  if (sum_) return *sum_;
  Sum out;
  if (value_ != 0) out.terms[{}] = value_;
  return out;
}

static bool is_in_names(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '~' || c == '@' || c == '#' ||
         c == '/';
}
static bool is_number(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
}

Dim Dim::named(std::string_view name, const std::source_location& where) {
  // Another name would be told from an expression by nobody: "n*m", "3".
  if (is_number(name) || !std::all_of(name.begin(), name.end(), is_in_names))
    throw UserError({.what = str("\"", name, "\" cannot be the name of a length"),
                     .expected = "letters, digits and _ . / in any order, but not digits alone",
                     .node = Origin::here(where).text()});
  return atom({.call = {}, .name = std::string(name), .args = {}, .text = {}});
}

Dim Dim::defined(std::string_view name, std::shared_ptr<const Node> definer) {
  TH_CHECK(name.starts_with('#') && std::all_of(name.begin(), name.end(), is_in_names), "a defined length: ", name);
  return atom({.call = {}, .name = std::string(name), .args = {}, .text = {}, .definer = std::move(definer)});
}

int64_t Dim::value() const {
  TH_CHECK(is_known(), "the length ", text(), " is not known before the call");
  return value_;
}

bool Dim::is_at_least(const Dim& bound) const {
  if (*this == bound) return true;
  Dim difference = *this - bound;
  if (difference.is_known()) return difference.value() >= 0;
  return std::all_of(difference.sum_->terms.begin(), difference.sum_->terms.end(),
                     [](const auto& term) { return term.second > 0; });
}

std::string Dim::text() const {
  return sum_ ? sum_->text : std::to_string(value_);
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.sum_ == b.sum_) return a.sum_ || a.value_ == b.value_;
  return a.sum_ && b.sum_ && a.sum_->text == b.sum_->text;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_known() && b.is_known()) return Dim(sum_of(a.value_, b.value_));
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  Dim::Sum out = a.sum(), other = b.sum();
  for (const auto& [atoms, coefficient] : other.terms) {
    int64_t& term = out.terms[atoms];
    term = sum_of(term, coefficient);
  }
  out.atoms.merge(other.atoms);
  return Dim::from(std::move(out));
}

Dim operator-(const Dim& a, const Dim& b) {
  return a + Dim(-1) * b;
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_known() && b.is_known()) return Dim(product_of(a.value_, b.value_));
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  if (a.is_known() || b.is_known()) {  // most products are: rows of a known length
    const int64_t factor = a.is_known() ? a.value_ : b.value_;
    Dim::Sum scaled = a.is_known() ? b.sum() : a.sum();
    for (auto& term : scaled.terms) term.second = product_of(term.second, factor);
    return Dim::from(std::move(scaled));
  }
  Dim::Sum left = a.sum(), right = b.sum(), out;
  for (const auto& [x, p] : left.terms)
    for (const auto& [y, q] : right.terms) {
      Monomial atoms;
      std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(atoms));
      int64_t& term = out.terms[atoms];
      term = sum_of(term, product_of(p, q));
    }
  out.atoms = std::move(left.atoms);
  out.atoms.merge(right.atoms);
  return Dim::from(std::move(out));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  if (a.is_known() && b.is_known()) return Dim(floor_div_number(a.value_, b.value_));
  if (a == b) return Dim(1);
  if (b.is_known()) {
    // Exact where every coefficient divides: floor_div(4*n + 2, 2) == 2*n + 1.
    Dim::Sum out = a.sum();
    if (std::all_of(out.terms.begin(), out.terms.end(), [&](const auto& t) { return t.second % b.value_ == 0; })) {
      for (auto& term : out.terms) term.second /= b.value_;
      return Dim::from(std::move(out));
    }
  }
  return Dim::atom({.call = "floor_div", .name = {}, .args = {a, b}, .text = {}});
}

Dim max(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (Dim difference = a - b; difference.is_known()) return difference.value() > 0 ? a : b;
  // Canonical order, so that max(a, b) equals max(b, a).
  return a.text() < b.text() ? Dim::atom({.call = "max", .name = {}, .args = {a, b}, .text = {}}) : max(b, a);
}

Dim min(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (Dim difference = a - b; difference.is_known()) return difference.value() > 0 ? b : a;
  return a.text() < b.text() ? Dim::atom({.call = "min", .name = {}, .args = {a, b}, .text = {}}) : min(b, a);
}

// Bottom-up: leaf(number or atom of a name), add, mul, and call(function, a, b).
template <class T, class Leaf, class Add, class Mul, class Call>
T Dim::fold(Leaf leaf, Add add, Mul mul, Call call) const {
  if (!sum_) return leaf(value_, nullptr);
  std::optional<T> total;
  for (const auto& [atoms, coefficient] : sum_->terms) {
    std::optional<T> value;
    if (coefficient != 1 || atoms.empty()) value = leaf(coefficient, nullptr);
    for (const std::string& text : atoms) {
      const Atom& atom = *sum_->atoms.at(text);
      T factor = atom.call.empty() ? leaf(0, &atom)
                                   : call(atom.call, atom.args[0].fold<T>(leaf, add, mul, call),
                                          atom.args[1].fold<T>(leaf, add, mul, call));
      value = value ? mul(*value, factor) : factor;
    }
    total = total ? add(*total, *value) : *value;
  }
  return *total;
}

int64_t Dim::evaluate(const std::function<int64_t(const std::string&)>& value_of) const {
  bool fits = true;
  const int64_t value =
      fold<int64_t>([&](int64_t number, const Atom* atom) { return atom ? value_of(atom->name) : number; },
                    [&](int64_t a, int64_t b) {
                      fits = !__builtin_add_overflow(a, b, &a) && fits;
                      return a;
                    },
                    [&](int64_t a, int64_t b) {
                      fits = !__builtin_mul_overflow(a, b, &a) && fits;
                      return a;
                    },
                    [](const std::string& call, int64_t a, int64_t b) {
                      return call == "max" ? std::max(a, b) : call == "min" ? std::min(a, b) : floor_div_number(a, b);
                    });
  if (fits) return value;
  std::set<std::string> names;
  collect_names(names);
  throw UserError(
      {.what = "a length or a size is too large",
       .expected = str(readable(text()), " < 2^63"),
       .got = join(names, ", ", [&](const std::string& name) { return str(readable(name), " = ", value_of(name)); }),
       .hint = "look at the numbers that it is computed from"});
}

void Dim::collect_names(std::set<std::string>& names) const {
  fold<int>(
      [&](int64_t, const Atom* atom) {
        if (atom) names.insert(atom->name);
        return 0;
      },
      [](int, int) { return 0; }, [](int, int) { return 0; }, [](const std::string&, int, int) { return 0; });
}

void Dim::collect_definers(std::vector<std::shared_ptr<const Node>>& definers) const {
  if (is_known()) return;
  fold<int>(
      [&](int64_t, const Atom* atom) {
        if (atom && atom->definer) definers.push_back(atom->definer);
        return 0;
      },
      [](int, int) { return 0; }, [](int, int) { return 0; }, [](const std::string&, int, int) { return 0; });
}

namespace {
struct Range {
  Dim least, most;
};
}  // namespace

Dim Dim::upper_bound(const std::function<std::optional<Dim>(const std::string&)>& bound_of) const {
  if (is_known()) return *this;
  return fold<Range>(
             [&](int64_t number, const Atom* atom) {
               if (!atom) return Range{number, number};
               if (std::optional<Dim> bound = bound_of(atom->name)) return Range{0, *bound};
               const Dim itself = Dim::atom(*atom);
               return Range{itself, itself};
             },
             [](const Range& a, const Range& b) {
               return Range{a.least + b.least, a.most + b.most};
             },
             // A coefficient, which may be negative, or atoms, which are not.
             [](const Range& a, const Range& b) {
               const bool flips = Dim(0).is_at_least(a.most);
               return flips ? Range{a.least * b.most, a.most * b.least} : Range{a.least * b.least, a.most * b.most};
             },
             [](const std::string& call, const Range& a, const Range& b) {
               if (call == "max") return Range{max(a.least, b.least), max(a.most, b.most)};
               if (call == "min") return Range{min(a.least, b.least), min(a.most, b.most)};
               const bool divides = b.least.is_known() && b.least == b.most;
               if (divides && b.least.value() < 0)
                 return Range{floor_div(a.most, b.least), floor_div(a.least, b.least)};
               return Range{floor_div(a.least, b.most), floor_div(a.most, divides ? b.least : max(b.least, Dim(1)))};
             })
      .most;
}

Dim Dim::substitute(const std::function<std::optional<Dim>(const std::string&)>& length_of) const {
  return fold<Dim>(
      [&](int64_t number, const Atom* atom) {
        return atom ? length_of(atom->name).value_or(Dim::atom(*atom)) : Dim(number);
      },
      [](const Dim& a, const Dim& b) { return a + b; }, [](const Dim& a, const Dim& b) { return a * b; },
      [](const std::string& call, const Dim& a, const Dim& b) {
        return call == "max" ? max(a, b) : call == "min" ? min(a, b) : floor_div(a, b);
      });
}

std::string Dim::code(const std::function<std::string(const std::string&)>& text_of) const {
  return fold<std::string>([&](int64_t number, const Atom* atom) { return atom ? text_of(atom->name) : str(number); },
                           [](const std::string& a, const std::string& b) { return str(a, " + ", b); },
                           [](const std::string& a, const std::string& b) { return str(a, " * ", b); },
                           [](const std::string& call, const std::string& a, const std::string& b) {
                             return str("th_", call, "(", a, ", ", b, ")");
                           });
}

std::string Dim::code_by_calls(const std::string& prefix, const std::function<std::string(int64_t)>& text_of_number,
                               const std::function<std::string(const std::string&)>& text_of) const {
  const auto called = [&](const std::string& call, const std::string& a, const std::string& b) {
    return str(prefix, call, "(", a, ", ", b, ")");
  };
  return fold<std::string>(
      [&](int64_t number, const Atom* atom) { return atom ? text_of(atom->name) : text_of_number(number); },
      [&](const std::string& a, const std::string& b) { return called("add", a, b); },
      [&](const std::string& a, const std::string& b) { return called("mul", a, b); }, called);
}

// sum := product (('+' | '-') product)*, product := factor ('*' factor)*, factor := number | name | call | '-' factor
struct Dim::Reader {
  std::string_view text;
  size_t at = 0;
  bool failed = false;

  void skip() {
    while (at < text.size() && text[at] == ' ') ++at;
  }
  bool accept(char c) {
    skip();
    if (at < text.size() && text[at] == c) return ++at, true;
    return false;
  }
  Dim factor() {
    skip();
    if (accept('-')) return Dim(-1) * factor();
    size_t begin = at;
    while (at < text.size() && is_in_names(text[at])) ++at;
    std::string word(text.substr(begin, at - begin));
    if (word.empty()) return failed = true, Dim(0);
    if (is_number(word)) {
      int64_t number = 0;
      if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc()) failed = true;
      return Dim(number);
    }
    if (at < text.size() && text[at] == '(') {
      ++at;
      Dim a = sum();
      if (!accept(',')) failed = true;
      Dim b = sum();
      if (!accept(')')) failed = true;
      if (failed) return Dim(0);
      if (word == "max") return max(a, b);
      if (word == "min") return min(a, b);
      if (word == "floor_div" && !b.is(0)) return floor_div(a, b);
      return failed = true, Dim(0);
    }
    return named(word);
  }
  Dim product() {
    Dim out = factor();
    while (!failed && accept('*')) out = out * factor();
    return out;
  }
  Dim sum() {
    Dim out = product();
    while (!failed) {
      if (accept('+'))
        out = out + product();
      else if (accept('-'))
        out = out - product();
      else
        break;
    }
    return out;
  }
};

std::optional<Dim> Dim::parse(std::string_view text) {
  Reader reader{text};
  Dim out = reader.sum();
  reader.skip();
  if (reader.failed || reader.at != text.size()) return std::nullopt;
  return out;
}

Dim product(const Dims& dims) {
  Dim out(1);
  for (const Dim& dim : dims) out = out * dim;
  return out;
}

std::string dims_text(const Dims& dims) {
  return join(dims, ", ", [](const Dim& dim) { return dim.text(); });
}

bool is_data_dependent(const Dim& dim) {
  return !dim.is_known() && dim.text().find('#') != std::string::npos;
}
bool is_data_dependent(const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return is_data_dependent(dim); });
}

std::string readable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '~') {
      while (i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1]))) ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace thtrain
