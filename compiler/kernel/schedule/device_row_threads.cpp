#include "compiler/kernel/schedule/device_row_threads.h"

#include <algorithm>

namespace thtrain::kernel {

void RowThreads::declare(size_t number, DType dtype, bool has_position) {
  if (count_ <= warp_) return;
  parts_.emplace_back(number, b_.code().shared_array("parts", dtype, count_ / warp_));
  if (has_position) positions_.emplace_back(number, b_.code().shared_array("locations", DType::kInt64, count_ / warp_));
}

const std::string& RowThreads::of(const Arrays& arrays, size_t number) {
  return std::ranges::find(arrays, number, &Arrays::value_type::first)->second;
}

// The first lane of each warp stores its warp's number.
void RowThreads::share(const std::string& array, const Term& own) {
  b_.code().if_(b_.thread() % Term(warp_) == Term(0),
                [&] { b_.code().store(array, b_.thread() / Term(warp_), 1, own); });
}

Term RowThreads::shared(const std::string& array, DType dtype, int64_t warp) {
  return b_.code().let("part", kernel::load(array, dtype, 1, Term(warp), 1));
}

Term RowThreads::combined(size_t number, Term own, const std::function<Term(const Term&, const Term&)>& combine) {
  if (count_ == 1) return own;
  Code& code = b_.code();
  for (int behind = warp_ / 2; behind > 0; behind /= 2)
    own = combine(own, code.shuffle("other", own, LaneChoice::kBehind, behind));
  if (count_ == warp_) return code.shuffle("all", own, LaneChoice::kNumber, 0);
  share(of(parts_, number), own);
  code.barrier();
  std::vector<Term> parts;
  for (int w = 0; w < count_ / warp_; ++w) parts.push_back(shared(of(parts_, number), own.dtype(), w));
  for (; parts.size() > 1; parts.resize(parts.size() / 2))
    for (size_t i = 0; 2 * i < parts.size(); ++i) parts[i] = combine(parts[2 * i], parts[2 * i + 1]);
  return parts[0];
}

Term RowThreads::where_best(size_t number, const Accumulation& how, Best own, const Term& length) {
  if (count_ == 1) return own.where;
  Code& code = b_.code();
  const auto better = [&](const Best& a, const Best& b) { return better_of(code, how, a, b, length); };
  for (int behind = warp_ / 2; behind > 0; behind /= 2) {
    const Best other{code.shuffle("other", own.value, LaneChoice::kBehind, behind),
                     code.shuffle("other", own.where, LaneChoice::kBehind, behind)};
    own = better(own, other);
  }
  if (count_ == warp_) return code.shuffle("all", own.where, LaneChoice::kNumber, 0);
  share(of(parts_, number), own.value);
  share(of(positions_, number), own.where);
  code.barrier();
  std::vector<Best> parts;
  for (int w = 0; w < count_ / warp_; ++w)
    parts.push_back(
        {shared(of(parts_, number), own.value.dtype(), w), shared(of(positions_, number), DType::kInt64, w)});
  for (; parts.size() > 1; parts.resize(parts.size() / 2))
    for (size_t i = 0; 2 * i < parts.size(); ++i) parts[i] = better(parts[2 * i], parts[2 * i + 1]);
  return parts[0].where;
}

}  // namespace thtrain::kernel
