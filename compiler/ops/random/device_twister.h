// The words of an MT19937 state, by one block of a device.
#pragma once

#include <string>

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// Statements of one kernel, whose block of kernel::kDeviceThreads threads moves the state in input 0 on, to output 0.
/// The words that it gives are numbered from 0 on. Shared memory holds 624 of them, and the 624 before.
class DeviceTwister {
 public:
  static constexpr int64_t kWords = 624;

  /// Declares shared arrays.
  explicit DeviceTwister(kernel::StepBuilder& b);

  /// Loads the state; a barrier must follow.
  void begin();
  /// The number of the first word in shared memory; the words before it are there too.
  const kernel::Term& base() const { return base_; }
  /// A word, by its number, and u in [0, 1) of two words.
  kernel::Term word_at(const kernel::Term& number);
  kernel::Term uniform_at(const kernel::Term& number);
  /// The next 624 words. All threads come here behind a barrier, and leave behind one.
  void twist();
  /// u of the words 2 i and 2 i + 1 for each i below n. All threads come here behind a barrier, and leave behind one.
  void uniforms(const kernel::Operand& to, const kernel::Term& n);
  /// One thread says how many words were used; none did: 0.
  void use(const kernel::Term& words);
  /// Stores the state: all but the normal number that it may hold. All threads come here behind a barrier.
  void end();

  /// Whether the state holds a normal number (0 or 1), and the lower and the upper half of its bits.
  static constexpr int64_t kPosition = kWords, kHasGauss = kWords + 1, kLowGauss = kWords + 2, kHighGauss = kWords + 3;
  /// As it is in input 0, which lies in the same memory perhaps; by one thread.
  void keep_gauss();

 private:
  kernel::StepBuilder& b_;
  kernel::Code& code_;
  std::string key_, used_;    // shared arrays: words in two halves; the number of words that were used
  kernel::Term from_, base_;  // where the words begin in the array; the number of the first one
};

}  // namespace thtrain
