#include "compiler/ops/random/device_twister.h"

#include <algorithm>

#include "compiler/kernel/schedule/device.h"

namespace thtrain {
namespace {

using kernel::Term;

constexpr int64_t kPhase = DeviceTwister::kWords - 397;

Term of_bits(int64_t value) {
  return kernel::constant_int(DType::kUInt32, value);
}
void each_word(kernel::StepBuilder& b, const std::function<void(const Term&)>& body) {
  b.code().loop("i", b.thread(), DeviceTwister::kWords, kernel::kDeviceThreads, kernel::LoopMark::kSequential, body);
}

}  // namespace

DeviceTwister::DeviceTwister(kernel::StepBuilder& b)
    : b_(b),
      code_(b.code()),
      key_(code_.shared_array("key", DType::kUInt32, 2 * kWords)),
      used_(code_.shared_array("used", DType::kInt64, 1)) {}

void DeviceTwister::begin() {
  const kernel::Operand& state = b_.input(0);
  const Term given = code_.let("given", kernel::cast(b_.load(state, kPosition), DType::kInt64)),
             position = code_.let("position", kernel::select(given < Term(kWords), given, kWords));
  each_word(b_, [&](const Term& i) { code_.store(key_, i, 1, b_.load(state, i)); });
  code_.if_(b_.thread() == Term(0), [&] { use(0); });
  base_ = code_.var("base", Term(0) - position);
  from_ = code_.var("from", 0);
}

Term DeviceTwister::word_at(const Term& number) {
  const Term at = code_.let("at", number - base_);
  const Term where = kernel::select(at < Term(0), Term(2 * kWords) - from_ + at, from_ + at);
  Term y = code_.let("y", kernel::load(key_, DType::kUInt32, 1, where, 1));
  y = code_.let("y", y ^ kernel::shift_right(y, Term(11)));
  y = code_.let("y", y ^ (kernel::shift_left(y, Term(7)) & of_bits(0x9d2c5680)));
  y = code_.let("y", y ^ (kernel::shift_left(y, Term(15)) & of_bits(0xefc60000)));
  return code_.let("y", y ^ kernel::shift_right(y, Term(18)));
}

Term DeviceTwister::uniform_at(const Term& number) {
  const auto part = [&](const Term& at, int shift) {
    return kernel::cast(kernel::shift_right(word_at(at), Term(shift)), DType::kFloat64);
  };
  const Term high = part(number, 5), low = part(number + Term(1), 6);
  return code_.let("u", (high * kernel::constant(DType::kFloat64, 67108864.0) + low) /
                            kernel::constant(DType::kFloat64, 9007199254740992.0));
}

// 227 of them follow from the old ones alone, the next 227 from these, and the last ones from those: a thread makes a
// word from one that it has made itself, but for the last word, which follows from the first one too.
void DeviceTwister::twist() {
  const Term to = code_.let("to", Term(kWords) - from_);
  const auto old = [&](const Term& i) { return kernel::load(key_, DType::kUInt32, 1, from_ + i, 1); };
  const auto fresh = [&](const Term& i) { return kernel::load(key_, DType::kUInt32, 1, to + i, 1); };
  for (int64_t phase = 0; phase < 3; ++phase) {
    code_.if_(b_.thread() < Term(std::min(kPhase, kWords - phase * kPhase)), [&] {
      const Term i = code_.let("i", b_.thread() + Term(phase * kPhase));
      const Term lower = code_.var("lower", of_bits(0));
      const auto follow = [&] { code_.assign(lower, old(i + Term(1))); };
      if (phase == 2)
        code_.if_(
            i == Term(kWords - 1), [&] { code_.assign(lower, fresh(0)); }, follow);
      else
        follow();
      const Term y = code_.let("y", (old(i) & of_bits(0x80000000)) | (lower & of_bits(0x7fffffff)));
      const Term far = phase == 0 ? old(i + Term(397)) : fresh(i - Term(kPhase));
      code_.store(key_, to + i, 1,
                  far ^ kernel::shift_right(y, Term(1)) ^
                      kernel::select((y & of_bits(1)) != of_bits(0), of_bits(0x9908b0df), of_bits(0)));
    });
    if (phase > 0) code_.barrier();
  }
  code_.assign(from_, to);
  code_.assign(base_, base_ + Term(kWords));
}

void DeviceTwister::uniforms(const kernel::Operand& to, const Term& n) {
  const Term taken = code_.var("taken", 0);
  code_.while_(taken < n, [&] {
    const Term first = code_.let("first", kernel::select(base_ > Term(0), base_ / Term(2), Term(0))),
               end = code_.let("end", (base_ + Term(kWords)) / Term(2));
    code_.loop("c", first + b_.thread(), end, kernel::kDeviceThreads, kernel::LoopMark::kSequential,
               [&](const Term& c) {
                 code_.if_(c < n, [&] { b_.store(to, c, uniform_at(c * Term(2))); });
                 code_.if_(c == n - Term(1), [&] { use(n * Term(2)); });
               });
    code_.assign(taken, end);
    code_.barrier();
    code_.if_(taken < n, [&] { twist(); });
  });
}

void DeviceTwister::use(const Term& words) {
  code_.store(used_, 0, 1, words);
}

void DeviceTwister::end() {
  code_.comment("the next state");
  each_word(b_, [&](const Term& i) { b_.store(b_.output(0), i, kernel::load(key_, DType::kUInt32, 1, from_ + i, 1)); });
  code_.if_(b_.thread() == Term(0), [&] {
    const Term used = kernel::load(used_, DType::kInt64, 1, 0, 1) - base_;
    b_.store(b_.output(0), kPosition, kernel::cast(used, DType::kUInt32));
  });
}

void DeviceTwister::keep_gauss() {
  for (const int64_t k : {kHasGauss, kLowGauss, kHighGauss}) b_.store(b_.output(0), k, b_.load(b_.input(0), k));
}

}  // namespace thtrain
