#include "compiler/ops/conv/device_direct.h"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

#include "compiler/base/ceil_div.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

namespace {

constexpr int kThreads = 128;
constexpr int64_t kFewChannels = 4, kUnrolledTaps = 32;
// Of a thread; half of it in the gradient to the images, which keeps a position for each unrolled tap. Of that the taps
// of a row are unrolled alone: else NVRTC spills.
constexpr int64_t kSumsBytes = 256;

class DirectKernel {
 public:
  DirectKernel(StepBuilder& b, const Convolution& c, const DeviceDirect& direct)
      : b_(b), code_(b.code()), c_(c), conv_(b, c), direct_(direct), product_(patch_product(c)) {}

  void run() {
    const std::string w = code_.shared_array("w", c_.dtype, product_.terms * direct_.rows);
    const int64_t of_columns = ceil_div(product_.columns, int64_t{kThreads} * direct_.positions),
                  of_rows = ceil_div(product_.rows, int64_t{direct_.rows});
    const Term number = code_.let("number", b_.block() / Term(of_columns)),
               group = code_.let("group", number / Term(of_rows)),
               row = code_.let("row", (number - group * Term(of_rows)) * Term(direct_.rows)),
               first =
                   code_.let("first", (b_.block() - number * Term(of_columns)) * Term(kThreads * direct_.positions) +
                                          b_.thread());
    conv_.set_group(c_.groups == 1 ? Term(0) : group);
    load_filters(w, row);
    code_.barrier();
    std::vector<Place> places;
    for (int p = 0; p < direct_.positions; ++p) places.push_back(place(first + Term(p * kThreads)));
    each_term([&](const Term& term, const Term& input, const SpatialTerms& tap) {
      std::vector<Term> x;
      for (const Place& at : places) {
        x.push_back(code_.var("x", zero()));
        conv_.load_right(x.back(), at.n, at.spatial, input, tap);
      }
      code_.loop("r", 0, Term(direct_.rows), 1, LoopMark::kUnrolled, [&](const Term& r) {
        const Term factor = code_.let("w", element(w, term * Term(direct_.rows) + r));
        for (size_t p = 0; p < places.size(); ++p)
          code_.store(places[p].sums, r, 1, fma(factor, x[p], element(places[p].sums, r)));
      });
    });
    for (const Place& at : places) store(at, row);
    b_.finish_device_kernel(str(name_of(c_.pass), "_direct"),
                            str("out0 = ", name_of(c_.pass), "(in0, in1), of few channels"),
                            Dim(of_columns * of_rows * c_.groups), kThreads,
                            str("a thread for ", direct_.rows, " results of ", direct_.positions, " positions"));
  }

 private:
  // A position of the thread; one behind the last is the last once more, and is not stored.
  struct Place {
    Term column, is_there, n;
    SpatialTerms spatial;
    std::string sums;
  };

  Term zero() const { return kernel::constant(c_.dtype, 0); }
  Term element(const std::string& array, const Term& i) const { return kernel::load(array, c_.dtype, 1, i, 1); }
  bool is_forward() const { return c_.pass == ConvPass::kForward; }

  // [term][row]; 0 where there is no row.
  void load_filters(const std::string& w, const Term& row) {
    code_.loop("i", b_.thread(), Term(product_.terms * direct_.rows), Term(kThreads), LoopMark::kSequential,
               [&](const Term& i) {
                 const Term term = code_.let("term", i / Term(direct_.rows)),
                            r = code_.let("r", row + i % Term(direct_.rows)), x = code_.var("x", zero());
                 const auto load = [&] { code_.assign(x, b_.load(conv_.filters(), conv_.left(r, term))); };
                 product_.rows % direct_.rows == 0 ? load() : code_.if_(r < Term(product_.rows), load);
                 code_.store(w, i, 1, x);
               });
  }

  Place place(const Term& column) {
    Place out;
    const Term last = Term(product_.columns - 1);
    out.is_there = code_.let("is_there", column <= last);
    out.column = code_.let("column", select(out.is_there, column, last));
    std::tie(out.n, out.spatial) = conv_.split(out.column, c_.n, is_forward() ? &ConvAxis::out : &ConvAxis::in);
    out.sums = code_.local_array("sum", {c_.dtype, 1, 0}, direct_.rows).node().name;
    code_.loop("r", 0, Term(direct_.rows), 1, LoopMark::kUnrolled,
               [&](const Term& r) { code_.store(out.sums, r, 1, zero()); });
    return out;
  }

  void each_term(const std::function<void(const Term& term, const Term& input, const SpatialTerms& tap)>& body) {
    const LoopMark mark = c_.taps() <= kUnrolledTaps ? LoopMark::kUnrolled : LoopMark::kSequential;
    const auto loop = [&](size_t axis, const std::function<void(const Term&)>& inside) {
      const bool is_unrolled = is_forward() || axis == 2;
      code_.loop("k", 0, Term(c_.axes[axis].kernel), 1, is_unrolled ? mark : LoopMark::kRolled, inside);
    };
    code_.loop("input", 0, Term(product_.terms / c_.taps()), 1, LoopMark::kRolled, [&](const Term& input) {
      loop(0, [&](const Term& d) {
        loop(1, [&](const Term& h) {
          loop(2, [&](const Term& v) {
            const Term tap = (d * Term(c_.axes[1].kernel) + h) * Term(c_.axes[2].kernel) + v;
            body(code_.let("term", input * Term(c_.taps()) + tap), conv_.number(input),
                 {conv_.number(d), conv_.number(h), conv_.number(v)});
          });
        });
      });
    });
  }

  void store(const Place& at, const Term& first_row) {
    code_.if_(at.is_there, [&] {
      code_.loop("r", 0, Term(direct_.rows), 1, LoopMark::kUnrolled, [&](const Term& r) {
        const Term row = code_.let("row", first_row + r);
        const auto store = [&] {
          b_.store(b_.output(), code_.let("element", conv_.result(row, at.column)), element(at.sums, r));
        };
        product_.rows % direct_.rows == 0 ? store() : code_.if_(row < Term(product_.rows), store);
      });
    });
  }

  StepBuilder& b_;
  kernel::Code& code_;
  const Convolution& c_;
  DeviceConv conv_;
  const DeviceDirect direct_;
  const PatchProduct product_;
};

}  // namespace

std::string name_of(const DeviceDirect& direct) {
  return str("direct ", direct.rows, "x", direct.positions);
}

std::optional<DeviceDirect> device_direct_named(std::string_view name) {
  for (const int rows : {4, 8, 16})
    for (const int positions : {1, 2, 4})
      if (const DeviceDirect direct{rows, positions}; name_of(direct) == name) return direct;
  return std::nullopt;
}

bool is_possible(const DeviceDirect& direct, const Convolution& c, const kernel::Target& target) {
  const auto size = static_cast<int64_t>(size_of(c.dtype));
  const int64_t most_bytes = c.pass == ConvPass::kForward ? kSumsBytes : kSumsBytes / 2;
  return c.pass != ConvPass::kWeightGradient && direct.rows * direct.positions * size <= most_bytes &&
         patch_product(c).terms * direct.rows * size <= target.device.shared_bytes;
}

std::vector<DeviceDirect> device_directs(const Convolution& c, const kernel::Target& target) {
  std::vector<DeviceDirect> out;
  if (std::min(c.channels(), c.filters()) > kFewChannels) return out;
  // A term of a thread takes a step for each result, and two for what it loads; rows that are not there count.
  const auto steps = [rows = patch_product(c).rows](int of_thread) {
    return ceil_div(rows, of_thread) * (of_thread + 2);
  };
  std::array all{16, 8, 4};
  std::stable_sort(all.begin(), all.end(), [&](int l, int r) { return steps(l) < steps(r); });
  for (const int of_thread : {all[0], all[1]})
    for (const int positions : {2, 4, 1})
      if (const DeviceDirect direct{of_thread, positions}; is_possible(direct, c, target)) out.push_back(direct);
  return out;
}

void lower_device_direct(StepBuilder& b, const Convolution& c, const DeviceDirect& direct) {
  DirectKernel(b, c, direct).run();
}

}  // namespace thtrain
