#include "compiler/tuning/user_candidate_calls.h"

#include <charconv>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "compiler/base/content_hash.h"
#include "compiler/base/str.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/ops/linalg/matrix_product.h"

namespace thtrain {
namespace {

using kernel::PointerTo;
using kernel::StepBuilder;

constexpr size_t kMostAxes = 5;
constexpr const char* kName = "user_candidate";
constexpr int kNotThere = -1;  // the function's result where no file of this process has the candidate

// An array: its pointer, its axes, their lengths and strides.
#define TH_USER_ARRAY(pointer, name)                                                                         \
  pointer name, long name##_axes, long name##_0, long name##_1, long name##_2, long name##_3, long name##_4, \
      long name##_by_0, long name##_by_1, long name##_by_2, long name##_by_3, long name##_by_4
#define TH_USER_CANDIDATE_PARAMETERS                                                                                \
  long number, long dtype, TH_USER_ARRAY(const void*, a), TH_USER_ARRAY(const void*, b), TH_USER_ARRAY(void*, out), \
      const void *alpha_at, const void *beta_at, int adds, void *workspace, long workspace_bytes
#define TH_USER_TEXT_OF(...) TH_USER_TEXT_OF_TOKENS(__VA_ARGS__)
#define TH_USER_TEXT_OF_TOKENS(...) #__VA_ARGS__

std::shared_mutex calls_mutex;
std::map<int64_t, UserCall>& calls() {
  static std::map<int64_t, UserCall> all;
  return all;
}

void split(const ThCandidateCall* call, void (*body)(void*, long, long), void* data, long n, long grain) {
  struct Part {
    void (*body)(void*, long, long);
    void* data;
  } part{body, data};
  void* buffers[] = {&part};
  auto run = [](ThContext*, void* const* given, const long*, long begin, long end) {
    const Part& p = *static_cast<const Part*>(given[0]);
    p.body(p.data, begin, end);
  };
  ThContext* context = static_cast<ThContext*>(call->host);
  context->parallel_for(context, run, buffers, nullptr, n, grain, 1);
}

extern "C" int user_candidate(ThContext* context, TH_USER_CANDIDATE_PARAMETERS) {
  UserCall user;
  {
    std::shared_lock lock(calls_mutex);
    const auto at = calls().find(number);
    if (at == calls().end()) return kNotThere;
    user = at->second;
  }
  const long a_lengths[] = {a_0, a_1, a_2, a_3, a_4}, b_lengths[] = {b_0, b_1, b_2, b_3, b_4},
             out_lengths[] = {out_0, out_1, out_2, out_3, out_4};
  const long a_strides[] = {a_by_0, a_by_1, a_by_2, a_by_3, a_by_4},
             b_strides[] = {b_by_0, b_by_1, b_by_2, b_by_3, b_by_4},
             out_strides[] = {out_by_0, out_by_1, out_by_2, out_by_3, out_by_4};
  auto factor = [&](const void* at) {
    return dtype == TH_FLOAT32 ? double{*static_cast<const float*>(at)} : *static_cast<const double*>(at);
  };
  const ThCandidateCall call{user.properties.c_str(),
                             static_cast<int>(dtype),
                             {const_cast<void*>(a), static_cast<int>(a_axes), a_lengths, a_strides},
                             {const_cast<void*>(b), static_cast<int>(b_axes), b_lengths, b_strides},
                             {out, static_cast<int>(out_axes), out_lengths, out_strides},
                             factor(alpha_at),
                             factor(beta_at),
                             adds,
                             workspace,
                             workspace_bytes,
                             context->threads,
                             split,
                             context};
  return user.compute(&call);
}

using Arguments = decltype(kernel::LibraryCall::arguments);

void add_array(const kernel::Operand& operand, Arguments& out) {
  const Dims &lengths = operand.type.dims, &strides = operand.layout.strides;
  out.emplace_back(PointerTo{operand.index});
  out.emplace_back(Dim(static_cast<int64_t>(lengths.size())));
  for (size_t i = 0; i < kMostAxes; ++i) out.emplace_back(i < lengths.size() ? lengths[i] : Dim(1));
  for (size_t i = 0; i < kMostAxes; ++i) out.emplace_back(i < strides.size() ? strides[i] : Dim(0));
}

}  // namespace

int64_t user_call_number(const std::string& file_hash, const std::string& name, const kernel::ChoiceKey& key) {
  const std::string hash = content_hash({file_hash, name, key.text()});
  uint64_t out = 0;
  std::from_chars(hash.data(), hash.data() + 15, out, 16);  // 60 bits
  return static_cast<int64_t>(out);
}

void add_user_call(int64_t number, UserCall call) {
  std::unique_lock lock(calls_mutex);
  calls()[number] = std::move(call);
}

void lower_user_call(StepBuilder& builder, const std::string& name, int64_t number, int64_t workspace_bytes) {
  kernel::Operand a = builder.input(0), b = builder.input(1);
  const kernel::Operand out = builder.output();
  Arguments factors = {kernel::NumberAt{1, out.type.dtype}, kernel::NumberAt{0, out.type.dtype}, Dim(0)};
  if (is_matrix_product(builder.node())) {
    const ProductStep step = product_step(builder);
    a = step.a;
    b = step.b;
    factors = {factor_at(builder, step.alpha), factor_at(builder, step.beta), Dim(step.reads_c)};
    if (step.reads_c) copy_addend(builder);
  }
  Arguments arguments = {Dim(number), Dim(out.type.dtype == DType::kFloat32 ? TH_FLOAT32 : TH_FLOAT64)};
  for (const kernel::Operand& array : {a, b, out}) add_array(array, arguments);
  arguments.insert(arguments.end(), factors.begin(), factors.end());
  const int workspace =
      workspace_bytes > 0 ? builder.workspace(DType::kUInt8, workspace_bytes).index : builder.output().index;
  arguments.emplace_back(PointerTo{workspace});
  arguments.emplace_back(Dim(workspace_bytes));
  builder.call_library(
      {{.name = kName, .parameters = TH_USER_TEXT_OF(TH_USER_CANDIDATE_PARAMETERS), .may_fail = true},
       arguments,
       kernel::RuntimeCheck{str("the candidate ", name, " failed"), "status 0, got {value}", builder.node().origin}});
}

void add_user_candidate_function() {
  static std::once_flag once;
  std::call_once(once, [] {
    add_library_function(kName, [] { return LibraryImplementation{reinterpret_cast<void*>(user_candidate), "1"}; });
  });
}

}  // namespace thtrain
