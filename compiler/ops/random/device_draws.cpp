#include "compiler/ops/random/device_draws.h"

#include "compiler/kernel/schedule/device.h"
#include "compiler/ops/random/device_twister.h"
#include "compiler/ops/reduce/device_scan.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::Term;

constexpr int kThreads = kernel::kDeviceThreads;

Term bits_of_word(int64_t value) {
  return kernel::constant_int(DType::kUInt32, value);
}
Term wide(double value) {
  return kernel::constant(DType::kFloat64, value);
}
Term log_of(const Term& x) {
  return kernel::math("log", {x});
}

// What some words in turn make, each number of words being a candidate.
enum class Candidate : uint8_t {
  kUniform,   // u in [0, 1) of two words
  kPositive,  // the same, if it is not 0
  kPolar,     // a pair of normal numbers of four words, if the point is within the circle
  kWhole,     // an integer of one word or two that are masked, if it is not too large
};

struct Form {
  std::string_view name;
  Candidate candidate;
  Term (*fits)(const Term& a, const Term& b);
  Term (*number)(Code& code, const Term& drawn, const Term& a, const Term& b);
};

Term fits_scale(const Term& x) {
  return !(x < wide(0));
}
Term second_is_scale(const Term&, const Term& b) {
  return fits_scale(b);
}
Term moved(Code&, const Term& z, const Term& a, const Term& b) {
  return a + b * z;
}
Term above(Code&, const Term& k, const Term& a, const Term&) {
  return a + k;
}

// By the sum of probabilities, or by the inverse of it where that would take long.
Term geometric_trials(Code& code, const Term& u, const Term& p, const Term&) {
  const Term out = code.var("trials", 1);
  code.if_(
      p < wide(0.333333333333333333333333),
      [&] { code.assign(out, kernel::cast(kernel::ceil(log_of(wide(1) - u) / log_of(wide(1) - p)), DType::kInt64)); },
      [&] {
        const Term sum = code.var("sum", p), term = code.var("term", p), q = code.let("q", wide(1) - p);
        code.while_(u > sum, [&] {
          code.assign(term, term * q);
          code.assign(sum, sum + term);
          code.assign(out, out + Term(1));
        });
      });
  return out;
}

constexpr Form kForms[] = {
    {"uniform", Candidate::kUniform, [](const Term& a, const Term& b) { return (b - a) - (b - a) == wide(0); },
     [](Code&, const Term& u, const Term& a, const Term& b) { return a + (b - a) * u; }},
    {"normal", Candidate::kPolar, second_is_scale, moved},
    {"lognormal", Candidate::kPolar, second_is_scale,
     [](Code& code, const Term& z, const Term& a, const Term& b) {
       return kernel::math("exp", {code.let("of_normal", moved(code, z, a, b))});
     }},
    {"exponential", Candidate::kUniform, [](const Term& a, const Term&) { return fits_scale(a); },
     [](Code&, const Term& u, const Term& a, const Term&) { return a * -log_of(wide(1) - u); }},
    {"laplace", Candidate::kPositive, second_is_scale,
     [](Code&, const Term& u, const Term& a, const Term& b) {
       return kernel::select(u >= wide(0.5), a - b * log_of(wide(2) - u - u), a + b * log_of(u + u));
     }},
    {"logistic", Candidate::kPositive, second_is_scale,
     [](Code&, const Term& u, const Term& a, const Term& b) { return a + b * log_of(u / (wide(1) - u)); }},
    {"geometric", Candidate::kUniform, [](const Term& p, const Term&) { return p > wide(0) && p <= wide(1); },
     geometric_trials},
    {"randint", Candidate::kWhole, [](const Term& a, const Term& b) { return a < b; }, above},
    {"random_integers", Candidate::kWhole, [](const Term& a, const Term& b) { return a <= b; }, above}};

class DeviceDraws {
 public:
  DeviceDraws(kernel::StepBuilder& b, const Distribution& of, const Form& form)
      : b_(b),
        code_(b.code()),
        of_(of),
        form_(form),
        candidate_(form.candidate),
        count_(b.output(1).type.elements()),
        twister_(b) {}

  // Does a mask follow from all elements?
  bool is_possible() const { return candidate_ != Candidate::kWhole || !varies(); }

  void run(const kernel::RuntimeCheck& unfit) {
    drawn_ = b_.workspace(of_.gives_whole && is_whole() ? DType::kInt64 : DType::kFloat64, count_);
    draw(unfit);
    const Term i = code_.let("i", b_.block() * Term(kThreads) + b_.thread());
    code_.if_(i < b_.length(count_), [&] { make_number(i); });
    b_.finish_device_kernel(std::string(of_.name), str("out1 = ", of_.formula), kernel::blocks_for(count_, kThreads),
                            kThreads, "a thread for each number");
  }

 private:
  bool is_whole() const { return candidate_ == Candidate::kWhole; }
  bool is_polar() const { return candidate_ == Candidate::kPolar; }
  bool rejects() const { return candidate_ != Candidate::kUniform; }
  bool varies() const { return !b_.input(1).type.is_scalar() || (of_.count == 2 && !b_.input(2).type.is_scalar()); }
  Term parameter(size_t k, const Term& i) {
    if (k >= of_.count) return wide(0);
    return code_.let(k == 0 ? "a" : "b", b_.load(b_.input(k + 1), b_.input(k + 1).type.is_scalar() ? Term(0) : i));
  }
  void each(const Term& count, const std::function<void(const Term&)>& body) {
    code_.loop("i", b_.thread(), count, Term(kThreads), LoopMark::kSequential, body);
  }
  void of_first_thread(const std::function<void()>& body) { code_.if_(b_.thread() == Term(0), body); }

  void make_number(const Term& i) {
    const Term a = parameter(0, i), b = parameter(1, i);
    Term drawn;
    if (is_whole()) {  // nothing is drawn between equal bounds
      drawn = code_.var("drawn", 0);
      code_.if_(most(a, b) > kernel::constant_int(DType::kUInt64, 0), [&] { code_.assign(drawn, b_.load(drawn_, i)); });
    } else {
      drawn = code_.let("drawn", b_.load(drawn_, i));
    }
    b_.store(b_.output(1), i, kernel::cast(form_.number(code_, drawn, a, b), b_.output(1).type.dtype));
  }

  // ---- the state, by one block

  void draw(const kernel::RuntimeCheck& unfit) {
    if (rejects()) ranks_ = code_.shared_array("ranks", DType::kInt64, 2 * kThreads);
    check_parameters(unfit);
    const Term n = b_.length(count_), need = code_.let("need", needed(n));
    twister_.begin();
    if (is_polar()) {
      const Term gauss = code_.let("gauss", gauss_before());
      of_first_thread([&] { code_.if_(start_ == Term(1), [&] { b_.store(drawn_, 0, gauss); }); });
    }
    code_.barrier();
    rejects() ? take(need) : twister_.uniforms(drawn_, n);
    twister_.end();
    of_first_thread([&] {
      const auto keep_gauss = [&] { twister_.keep_gauss(); };
      if (!is_polar()) return keep_gauss();
      // Of an odd number of normal numbers the last pair has left one.
      const auto clear_gauss = [&] {
        code_.if_(need * Term(2) == n - start_, [&] {
          for (const int64_t k : {DeviceTwister::kHasGauss, DeviceTwister::kLowGauss, DeviceTwister::kHighGauss})
            b_.store(b_.output(0), k, bits_of_word(0));
        });
      };
      if (count_.is_known()) return count_.is(0) ? keep_gauss() : clear_gauss();
      code_.if_(n == Term(0), keep_gauss, clear_gauss);
    });
    b_.finish_device_kernel(str(of_.name, "_words"), "out0 = the next state; what its words make", 1, kThreads,
                            "a block for the state");
  }

  // The first element whose parameters do not fit fails the call.
  void check_parameters(const kernel::RuntimeCheck& unfit) {
    const Term n = b_.length(count_);
    if (!varies()) return b_.require(n == Term(0) || form_.fits(parameter(0, 0), parameter(1, 0)), unfit, Term(1), 0);
    const std::string found = code_.shared_array("unfit", DType::kInt64, 1);
    of_first_thread([&] { code_.store(found, 0, 1, n); });
    code_.barrier();
    each(n, [&](const Term& i) {
      const Term a = parameter(0, i), b = parameter(1, i);
      code_.if_(!form_.fits(a, b), [&] { code_.atomic(found, 0, i, kernel::AtomicKind::kMin); });
    });
    code_.barrier();
    const Term first = code_.let("first", kernel::load(found, DType::kInt64, 1, 0, 1));
    b_.require(first == n, unfit, first + Term(1), 0);
  }

  // Candidates that must be taken.
  Term needed(const Term& n) {
    if (is_polar()) {
      const Term has = b_.load(b_.input(0), DeviceTwister::kHasGauss) != bits_of_word(0);
      start_ = code_.let("start", kernel::select(has && n > Term(0), Term(1), Term(0)));
      return (n - start_ + Term(1)) / Term(2);
    }
    if (!is_whole()) return n;
    const Term zero = kernel::constant_int(DType::kUInt64, 0);
    most_ = code_.let("most", most(parameter(0, 0), parameter(1, 0)));
    Term mask = most_;
    for (int shift = 1; shift < 64; shift *= 2) mask = code_.let("mask", mask | kernel::shift_right(mask, Term(shift)));
    mask_ = mask;
    of_two_ = code_.let("of_two", most_ > kernel::constant_int(DType::kUInt64, 0xffffffff));
    return kernel::select(most_ == zero, Term(0), n);
  }
  Term most(const Term& a, const Term& b) {
    return kernel::cast(b - a - Term(of_.name == "randint" ? 1 : 0), DType::kUInt64);
  }
  Term gauss_before() {
    const auto part = [&](int64_t at) { return kernel::cast(b_.load(b_.input(0), at), DType::kUInt64); };
    return kernel::bit_cast(
        kernel::shift_left(part(DeviceTwister::kHighGauss), Term(32)) | part(DeviceTwister::kLowGauss),
        DType::kFloat64);
  }

  Term words_of_candidate() const {
    return is_polar() ? Term(4) : is_whole() ? kernel::select(of_two_, Term(2), Term(1)) : Term(2);
  }

  // Candidates one after the other, until so many are taken.
  void take(const Term& need) {
    const Term taken = code_.var("taken", 0), words = code_.let("words", words_of_candidate());
    code_.while_(taken < need, [&] {
      // Those whose last word is among these.
      const Term base = twister_.base(),
                 first = code_.let("first", kernel::select(base > Term(0), base / words, Term(0))),
                 end = code_.let("end", (base + Term(DeviceTwister::kWords)) / words);
      code_.loop("some", first, end, Term(kThreads), LoopMark::kSequential,
                 [&](const Term& some) { take_some(code_.let("c", some + b_.thread()), end, words, taken, need); });
      code_.if_(taken < need, [&] { twister_.twist(); });
    });
  }

  void take_some(const Term& c, const Term& end, const Term& words, const Term& taken, const Term& need) {
    const Term is_taken = code_.var("is_taken", 0);
    std::vector<Term> numbers;
    for (int k = 0; k < (is_polar() ? 3 : 1); ++k)
      numbers.push_back(code_.var("number", is_whole() ? kernel::constant_int(DType::kUInt64, 0) : wide(0)));
    code_.if_(c < end, [&] { candidate(c * words, numbers, is_taken); });
    code_.store(ranks_, b_.thread(), 1, is_taken);
    code_.barrier();
    scan_block(b_, ranks_, DType::kInt64, b_.thread() >= Term(0), [](const Term& x, const Term& y) { return x + y; });
    const auto rank_of = [&](const Term& i) { return kernel::load(ranks_, DType::kInt64, 1, i, 1); };
    const Term rank = code_.let("rank", taken + rank_of(b_.thread()) - Term(1));
    code_.if_(is_taken == Term(1) && rank < need, [&] {
      keep(rank, numbers);
      code_.if_(rank == need - Term(1), [&] { twister_.use((c + Term(1)) * words); });
    });
    code_.assign(taken, taken + rank_of(kThreads - 1));
    code_.barrier();
  }

  void candidate(const Term& first, const std::vector<Term>& numbers, const Term& is_taken) {
    const auto take = [&](const Term& condition) {
      code_.assign(is_taken, kernel::select(condition, Term(1), Term(0)));
    };
    if (is_whole()) {
      const auto part = [&](const Term& number) { return kernel::cast(twister_.word_at(number), DType::kUInt64); };
      code_.assign(numbers[0], part(first));
      code_.if_(of_two_,
                [&] { code_.assign(numbers[0], kernel::shift_left(numbers[0], Term(32)) | part(first + Term(1))); });
      code_.assign(numbers[0], numbers[0] & mask_);
      return take(numbers[0] <= most_);
    }
    code_.assign(numbers[0], twister_.uniform_at(first));
    if (!is_polar()) return take(numbers[0] != wide(0));
    code_.assign(numbers[0], wide(2) * numbers[0] - wide(1));
    code_.assign(numbers[1], wide(2) * twister_.uniform_at(first + Term(2)) - wide(1));
    code_.assign(numbers[2], numbers[0] * numbers[0] + numbers[1] * numbers[1]);
    take(numbers[2] < wide(1) && numbers[2] != wide(0));
  }

  void keep(const Term& rank, const std::vector<Term>& numbers) {
    if (is_whole()) return b_.store(drawn_, rank, kernel::cast(numbers[0], DType::kInt64));
    if (!is_polar()) return b_.store(drawn_, rank, numbers[0]);
    const Term factor = code_.let("factor", kernel::sqrt(wide(-2) * log_of(numbers[2]) / numbers[2])),
               at = code_.let("at", start_ + rank * Term(2));
    b_.store(drawn_, at, factor * numbers[1]);
    const Term second = code_.let("second", factor * numbers[0]);
    code_.if_(
        at + Term(1) < b_.length(count_), [&] { b_.store(drawn_, at + Term(1), second); },
        [&] {
          const kernel::Operand& next = b_.output(0);
          const Term bits = code_.let("bits", kernel::bit_cast(second, DType::kUInt64));
          b_.store(next, DeviceTwister::kHasGauss, bits_of_word(1));
          b_.store(next, DeviceTwister::kLowGauss,
                   kernel::cast(bits & kernel::constant_int(DType::kUInt64, 0xffffffff), DType::kUInt32));
          b_.store(next, DeviceTwister::kHighGauss, kernel::cast(kernel::shift_right(bits, Term(32)), DType::kUInt32));
        });
  }

  kernel::StepBuilder& b_;
  Code& code_;
  const Distribution& of_;
  const Form& form_;
  const Candidate candidate_;
  const Dim count_;             // of numbers
  kernel::Operand drawn_ = {};  // by number: what its words make
  DeviceTwister twister_;
  std::string ranks_;          // a shared array: of candidates
  Term start_;                 // 1 where the state holds a normal number
  Term most_, mask_, of_two_;  // of whole numbers: the largest one, its bits; are two words taken for each?
};

}  // namespace

bool lower_device_draw(kernel::StepBuilder& b, const Distribution& of, const kernel::RuntimeCheck& unfit) {
  for (const Form& form : kForms) {
    if (form.name != of.name) continue;
    DeviceDraws draws(b, of, form);
    if (!draws.is_possible()) return false;
    draws.run(unfit);
    return true;
  }
  return false;
}

}  // namespace thtrain
