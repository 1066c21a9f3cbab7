#include "compiler/libraries/onednn_conv.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "compiler/libraries/onednn.h"
#include "compiler/libraries/threads.h"

namespace thtrain {
namespace {

// ---- Of the C interface of oneDNN 2, by the names of its manual. Objects are pointers; descriptions are structs of
// the caller, and smaller than these.

using Status = int;
using Object = void*;
struct MemoryDescription {
  alignas(64) char bytes[1024];
};
struct ConvolutionDescription {
  alignas(64) char bytes[8192];
};
using DnnLengths = std::array<int64_t, 12>;
struct Argument {
  int name;
  Object memory;
};

constexpr Status kOutOfMemory = 1;
constexpr int kFloat32 = 3, kAnyLayout = 1, kCpu = 1, kUserScratchpad = 1, kDirect = 1;
constexpr int kForwardTraining = 64, kForwardInference = 96;
constexpr int kSource = 1, kDestination = 17, kWeights = 33, kScratchpad = 80, kGradient = 128;  // of arguments
constexpr int kSourceOf = 129, kSourceGradientOf = 130, kWeightsOf = 131, kWeightsGradientOf = 132,
              kDestinationOf = 133, kDestinationGradientOf = 134, kScratchpadOf = 136;  // of queries

using Md = const MemoryDescription*;
// Name, name in the library without dnnl_, type.
#define TH_ONEDNN_FUNCTIONS(F)                                                                                    \
  F(engine_create, engine_create, Status(Object*, int kind, size_t index))                                        \
  F(stream_create, stream_create, Status(Object*, Object engine, unsigned flags))                                 \
  F(memory_desc_init_by_strides, memory_desc_init_by_strides,                                                     \
    Status(MemoryDescription*, int rank, const int64_t* dims, int dtype, const int64_t* strides))                 \
  F(memory_desc_init_by_tag, memory_desc_init_by_tag,                                                             \
    Status(MemoryDescription*, int rank, const int64_t* dims, int dtype, int tag))                                \
  F(memory_desc_equal, memory_desc_equal, int(Md, Md))                                                            \
  F(memory_desc_get_size, memory_desc_get_size, size_t(Md))                                                       \
  F(memory_create, memory_create, Status(Object*, Md, Object engine, void* data))                                 \
  F(memory_destroy, memory_destroy, Status(Object))                                                               \
  F(primitive_attr_create, primitive_attr_create, Status(Object*))                                                \
  F(primitive_attr_set_scratchpad_mode, primitive_attr_set_scratchpad_mode, Status(Object, int mode))             \
  F(forward, dilated_convolution_forward_desc_init,                                                               \
    Status(ConvolutionDescription*, int kind, int algorithm, Md source, Md weights, Md bias, Md destination,      \
           const int64_t* strides, const int64_t* dilations, const int64_t* before, const int64_t* after))        \
  F(backward_data, dilated_convolution_backward_data_desc_init,                                                   \
    Status(ConvolutionDescription*, int algorithm, Md source, Md weights, Md destination, const int64_t* strides, \
           const int64_t* dilations, const int64_t* before, const int64_t* after))                                \
  F(backward_weights, dilated_convolution_backward_weights_desc_init,                                             \
    Status(ConvolutionDescription*, int algorithm, Md source, Md weights, Md bias, Md destination,                \
           const int64_t* strides, const int64_t* dilations, const int64_t* before, const int64_t* after))        \
  F(primitive_desc_create, primitive_desc_create,                                                                 \
    Status(Object*, const void* description, Object attributes, Object engine, Object hint))                      \
  F(primitive_desc_destroy, primitive_desc_destroy, Status(Object))                                               \
  F(primitive_desc_query_md, primitive_desc_query_md, Md(Object, int what, int index))                            \
  F(reorder_primitive_desc_create, reorder_primitive_desc_create,                                                 \
    Status(Object*, Md from, Object, Md to, Object, Object attributes))                                           \
  F(primitive_create, primitive_create, Status(Object*, Object description))                                      \
  F(primitive_destroy, primitive_destroy, Status(Object))                                                         \
  F(primitive_execute, primitive_execute, Status(Object, Object stream, int count, const Argument*))

struct OnednnApi {
#define TH_ONEDNN_FIELD(name, symbol, ...) std::type_identity_t<__VA_ARGS__>* name = nullptr;
  TH_ONEDNN_FUNCTIONS(TH_ONEDNN_FIELD)
#undef TH_ONEDNN_FIELD
  Object engine = nullptr, attributes = nullptr;
};

// nullptr where there is no library of that version.
std::unique_ptr<OnednnApi> load_conv() {
  if (!onednn() || onednn()->major != 2) return nullptr;
  auto out = std::make_unique<OnednnApi>();
  bool is_complete = true;
#define TH_ONEDNN_FIND(name, symbol, ...)                                                       \
  out->name = reinterpret_cast<decltype(out->name)>(dlsym(onednn()->library, "dnnl_" #symbol)); \
  is_complete = is_complete && out->name;
  TH_ONEDNN_FUNCTIONS(TH_ONEDNN_FIND)
#undef TH_ONEDNN_FIND
  if (!is_complete || out->engine_create(&out->engine, kCpu, 0) != 0 ||
      out->primitive_attr_create(&out->attributes) != 0 ||
      out->primitive_attr_set_scratchpad_mode(out->attributes, kUserScratchpad) != 0)
    return nullptr;
  return out;
}

const OnednnApi* api() {
  static const OnednnApi* const once = load_conv().release();  // its engine is there as long as the process
  return once;
}

// ---- A part of a convolution, for one thread: some images, groups, channels and filters of a group. Its operands lie
// inside of the whole ones.

struct Part {
  int64_t images, groups, channels, filters;
  int64_t x, w, y;  // where the operands begin
};

std::vector<Part> parts_of(const Convolution& c, int threads) {
  const int64_t pixels = c.pixels(), positions = c.positions(), filter = c.channels() * c.taps();
  std::vector<Part> out;
  auto cut = [&](int64_t length, int64_t multiple, auto&& part) {
    const Partition partition(length, 1, multiple, threads);
    for (int i = 0; i < partition.pieces(); ++i)
      out.push_back(part(partition.begin(i), partition.end(i) - partition.begin(i)));
  };
  constexpr int64_t kBlock = 16;  // channels that the library's layouts keep together
  if (c.pass != ConvPass::kWeightGradient && c.n > 1)
    cut(c.n, 1, [&](int64_t i, int64_t count) {
      return Part{count, c.groups, c.channels(), c.filters(), i * c.c * pixels, 0, i * c.f * positions};
    });
  else if (c.groups > 1)
    cut(c.groups, 1, [&](int64_t i, int64_t count) {
      return Part{c.n,
                  count,
                  c.channels(),
                  c.filters(),
                  i * c.channels() * pixels,
                  i * c.filters() * filter,
                  i * c.filters() * positions};
    });
  else if (c.pass == ConvPass::kInputGradient)
    cut(c.c, kBlock, [&](int64_t i, int64_t count) { return Part{c.n, 1, count, c.f, i * pixels, i * c.taps(), 0}; });
  else
    cut(c.f, kBlock, [&](int64_t i, int64_t count) { return Part{c.n, 1, c.c, count, 0, i * filter, i * positions}; });
  return out;
}

// ---- The primitives of a part: the convolution, and the copies of its operands.

enum Role : size_t { kX, kW, kY };

class Primitives {
 public:
  Primitives(const Convolution& c, const Part& part) { status_ = make(c, part); }
  ~Primitives() {
    for (Copy& copy : copies_) destroy(copy.primitive);
    destroy(convolution_);
    if (description_) api()->primitive_desc_destroy(description_);
  }
  Primitives(const Primitives&) = delete;
  Primitives& operator=(const Primitives&) = delete;

  Status status() const { return status_; }
  size_t memory_bytes() const { return memory_bytes_; }

  // Of the operands x, w and y, the pass's output is written. `memory` has memory_bytes().
  Status run(Object stream, const std::array<float*, 3>& operands, char* memory) const {
    std::array<Object, 7> memories = {};
    size_t made = 0;
    Status status = 0;
    auto memory_of = [&](Md md, void* data) -> Object {
      Object out = nullptr;
      if (status == 0) status = api()->memory_create(&out, md, api()->engine, data);
      if (status == 0) memories[made++] = out;
      return out;
    };
    auto execute = [&](Object primitive, std::initializer_list<Argument> arguments) {
      if (status == 0)
        status = api()->primitive_execute(primitive, stream, static_cast<int>(arguments.size()), arguments.begin());
    };
    std::array<Object, 3> plain = {}, own = {};
    for (size_t role : {kX, kW, kY}) {
      const Copy& copy = copies_[role];
      plain[role] = own[role] = memory_of(&copy.plain, operands[role]);
      if (copy.primitive) own[role] = memory_of(copy.own, memory + copy.offset);
      if (copy.primitive && role != output_)
        execute(copy.primitive, {{kSource, plain[role]}, {kDestination, own[role]}});
    }
    const Object scratchpad = memory_of(scratchpad_, memory + scratchpad_offset_);
    execute(convolution_,
            {{names_[kX], own[kX]}, {names_[kW], own[kW]}, {names_[kY], own[kY]}, {kScratchpad, scratchpad}});
    const Copy& copy = copies_[output_];
    if (copy.primitive) execute(copy.primitive, {{kSource, own[output_]}, {kDestination, plain[output_]}});
    for (size_t i = 0; i < made; ++i) api()->memory_destroy(memories[i]);
    return status;
  }

 private:
  struct Copy {
    MemoryDescription plain, any;
    Md own = nullptr;            // as the convolution has it
    Object primitive = nullptr;  // none where they are the same
    size_t offset = 0;
  };

  static void destroy(Object primitive) {
    if (primitive) api()->primitive_destroy(primitive);
  }

  Status describe(Copy& copy, const std::vector<int64_t>& lengths, const std::vector<int64_t>& strides) {
    const int rank = static_cast<int>(lengths.size());
    const Status status =
        api()->memory_desc_init_by_strides(&copy.plain, rank, lengths.data(), kFloat32, strides.data());
    return status != 0 ? status : api()->memory_desc_init_by_tag(&copy.any, rank, lengths.data(), kFloat32, kAnyLayout);
  }

  Status make(const Convolution& c, const Part& part) {
    size_t first = 0;  // leading axes of length 1 say nothing
    while (first < 2 && c.axes[first] == ConvAxis{}) ++first;
    std::vector<int64_t> x = {part.images, part.groups * part.channels}, x_strides = {c.c * c.pixels(), c.pixels()},
                         y = {part.images, part.groups * part.filters},
                         y_strides = {c.f * c.positions(), c.positions()}, w = {part.filters, part.channels},
                         w_strides = {c.channels() * c.taps(), c.taps()};
    if (part.groups > 1) {
      w.insert(w.begin(), part.groups);
      w_strides.insert(w_strides.begin(), c.filters() * c.channels() * c.taps());
    }
    DnnLengths stride = {}, dilation = {}, before = {}, after = {};
    int64_t of_x = c.pixels(), of_w = c.taps(), of_y = c.positions();
    for (size_t i = 0; i < 3; ++i) {
      const ConvAxis& axis = c.axes[i];
      of_x /= axis.in;
      of_w /= axis.kernel;
      of_y /= axis.out;
      if (i < first) continue;
      x.push_back(axis.in);
      w.push_back(axis.kernel);
      y.push_back(axis.out);
      x_strides.push_back(of_x);
      w_strides.push_back(of_w);
      y_strides.push_back(of_y);
      stride[i - first] = axis.stride;
      dilation[i - first] = axis.dilation - 1;
      before[i - first] = axis.before;
      after[i - first] = axis.after;
    }
    Status status = describe(copies_[kX], x, x_strides);
    if (status == 0) status = describe(copies_[kW], w, w_strides);
    if (status == 0) status = describe(copies_[kY], y, y_strides);
    if (status != 0) return status;
    auto all = [&](auto&& init) {
      return init(&copies_[kX].any, &copies_[kW].any, &copies_[kY].any, stride.data(), dilation.data(), before.data(),
                  after.data());
    };
    Object hint = nullptr;
    auto forward = [&](int kind, Object& out) {
      auto description = std::make_unique<ConvolutionDescription>();
      const Status made = all([&](Md image, Md filters, Md result, auto... numbers) {
        return api()->forward(description.get(), kind, kDirect, image, filters, nullptr, result, numbers...);
      });
      if (made != 0) return made;
      return api()->primitive_desc_create(&out, description.get(), api()->attributes, api()->engine, nullptr);
    };
    status = c.pass == ConvPass::kForward ? forward(kForwardInference, description_) : forward(kForwardTraining, hint);
    if (status == 0 && c.pass != ConvPass::kForward) {
      auto description = std::make_unique<ConvolutionDescription>();
      status = all([&](Md image, Md filters, Md result, auto... numbers) {
        return c.pass == ConvPass::kInputGradient
                   ? api()->backward_data(description.get(), kDirect, image, filters, result, numbers...)
                   : api()->backward_weights(description.get(), kDirect, image, filters, nullptr, result, numbers...);
      });
      if (status == 0)
        status = api()->primitive_desc_create(&description_, description.get(), api()->attributes, api()->engine, hint);
      api()->primitive_desc_destroy(hint);
    }
    if (status == 0) status = api()->primitive_create(&convolution_, description_);
    return status != 0 ? status : make_copies(c.pass);
  }

  Status make_copies(ConvPass pass) {
    std::array<int, 3> queries = {};
    switch (pass) {
      case ConvPass::kForward:
        names_ = {kSource, kWeights, kDestination};
        queries = {kSourceOf, kWeightsOf, kDestinationOf};
        output_ = kY;
        break;
      case ConvPass::kInputGradient:
        names_ = {kSource + kGradient, kWeights, kDestination + kGradient};
        queries = {kSourceGradientOf, kWeightsOf, kDestinationGradientOf};
        output_ = kX;
        break;
      case ConvPass::kWeightGradient:
        names_ = {kSource, kWeights + kGradient, kDestination + kGradient};
        queries = {kSourceOf, kWeightsGradientOf, kDestinationGradientOf};
        output_ = kW;
    }
    auto take_memory = [&](Md md) {
      constexpr size_t kPage = 4096;
      const size_t offset = memory_bytes_;
      memory_bytes_ += (api()->memory_desc_get_size(md) + kPage - 1) / kPage * kPage;
      return offset;
    };
    for (size_t role : {kX, kW, kY}) {
      Copy& copy = copies_[role];
      copy.own = api()->primitive_desc_query_md(description_, queries[role], 0);
      if (api()->memory_desc_equal(&copy.plain, copy.own)) continue;
      copy.offset = take_memory(copy.own);
      const bool is_output = role == output_;
      Object description = nullptr;
      Status status =
          api()->reorder_primitive_desc_create(&description, is_output ? copy.own : &copy.plain, api()->engine,
                                               is_output ? &copy.plain : copy.own, api()->engine, nullptr);
      if (status != 0) return status;
      status = api()->primitive_create(&copy.primitive, description);
      api()->primitive_desc_destroy(description);
      if (status != 0) return status;
    }
    scratchpad_ = api()->primitive_desc_query_md(description_, kScratchpadOf, 0);
    scratchpad_offset_ = take_memory(scratchpad_);
    return 0;
  }

  Status status_ = 0;
  Object description_ = nullptr, convolution_ = nullptr;
  std::array<Copy, 3> copies_ = {};
  std::array<int, 3> names_ = {};
  size_t output_ = kY;
  Md scratchpad_ = nullptr;
  size_t scratchpad_offset_ = 0, memory_bytes_ = 0;
};

// ---- What calls share, one after the other.

class Calls {
 public:
  Status run(const Convolution& c, int threads, const std::array<float*, 3>& operands) {
    std::lock_guard lock(mutex_);
    onednn()->use_one_thread();
    const std::vector<Part> parts = parts_of(c, threads);
    std::vector<const Primitives*> primitives;
    while (walkers_.size() < parts.size()) walkers_.emplace_back();
    for (size_t i = 0; i < parts.size(); ++i) {
      primitives.push_back(&primitives_of(c, parts[i]));
      const Status status = primitives[i]->status();
      if (status != 0) return status;
      if (!walkers_[i].prepare(primitives[i]->memory_bytes())) return kOutOfMemory;
    }
    std::atomic<Status> failed = 0;
    run_pieces(static_cast<int>(parts.size()), [&](int piece) {
      onednn()->use_one_thread();
      const auto i = static_cast<size_t>(piece);
      const Part& part = parts[i];
      const Status status =
          primitives[i]->run(walkers_[i].stream, {operands[kX] + part.x, operands[kW] + part.w, operands[kY] + part.y},
                             walkers_[i].memory.get());
      if (status != 0) failed = status;
    });
    return failed;
  }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  struct Walker {
    Object stream = nullptr;
    std::unique_ptr<char, Free> memory;
    size_t bytes = 0;

    bool prepare(size_t needed) {
      if (!stream && api()->stream_create(&stream, api()->engine, 0) != 0) return false;
      if (needed <= bytes) return true;
      constexpr size_t kAlignment = 4096;
      memory.reset();
      memory.reset(static_cast<char*>(std::aligned_alloc(kAlignment, needed)));
      bytes = memory ? needed : 0;
      return memory != nullptr;
    }
  };

  const Primitives& primitives_of(const Convolution& c, const Part& part) {
    std::vector<int64_t> key = {static_cast<int64_t>(c.pass), c.n, c.c, c.f, c.groups};
    for (const ConvAxis& a : c.axes)
      key.insert(key.end(), {a.in, a.kernel, a.out, a.stride, a.dilation, a.before, a.after});
    key.insert(key.end(), {part.images, part.groups, part.channels, part.filters});
    std::unique_ptr<Primitives>& found = primitives_[key];
    if (!found) found = std::make_unique<Primitives>(c, part);
    return *found;
  }

  std::mutex mutex_;
  std::map<std::vector<int64_t>, std::unique_ptr<Primitives>> primitives_;
  std::vector<Walker> walkers_;
};

int conv_onednn_f32(ThContext* context, TH_CONV_ONEDNN_PARAMETERS) {
  static Calls& calls = *new Calls;  // the library may be gone before statics are
  const Convolution convolution = TH_CONV_OF_PARAMETERS(DType::kFloat32);
  auto* first = const_cast<float*>(a);
  auto* second = const_cast<float*>(b);
  std::array<float*, 3> operands = {first, second, out};
  if (convolution.pass == ConvPass::kInputGradient) operands = {out, first, second};
  if (convolution.pass == ConvPass::kWeightGradient) operands = {first, out, second};
  try {
    return calls.run(convolution, context->threads, operands);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

}  // namespace

NamedFunctions onednn_conv_functions() {
  return {{"conv_onednn_f32", []() -> std::optional<LibraryImplementation> {
             if (!api()) return std::nullopt;
             return LibraryImplementation{reinterpret_cast<void*>(conv_onednn_f32), onednn()->version};
           }}};
}

}  // namespace thtrain
