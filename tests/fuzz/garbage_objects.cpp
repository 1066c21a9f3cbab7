// Handles and arrays: Expr, Tensor, Shared and Function, and what functions are made of.
#include "tests/fuzz/garbage_calls.h"

namespace thtrain {
namespace {

using Exprs = const std::vector<Expr>&;
using Arrays = const std::vector<Tensor>&;

void add_expressions(std::vector<GarbageCall>& calls) {
  calls.push_back(garbage_call("Expr.operator[]", [](const Expr& x, const Index& i) { return x[i]; }));
  calls.push_back(garbage_call("Expr.operator[]", [](const Expr& x, const Index& i, const Index& j) {
    return x[{i, j}];
  }));
  calls.push_back(garbage_call("Expr.T", [](const Expr& x) { return x.T(); }));
  calls.push_back(garbage_call("Expr.same", [](const Expr& x, const Expr& y) { (void)(x.same(y) || x.has_value()); }));
  calls.push_back(garbage_call("Expr.has_value", [](const Expr& x) { (void)x.has_value(); }));
  calls.push_back(garbage_call("Expr.node_ptr", [](const Expr& x) { (void)x.node_ptr(); }));
  calls.push_back(garbage_call("Expr.output", [](const Expr& x) { (void)x.output(); }));
#define TH_ASKED(name) calls.push_back(garbage_call("Expr." #name, [](const Expr& x) { (void)x.name(); }))
  TH_ASKED(node);
  TH_ASKED(type);
  TH_ASKED(dtype);
  TH_ASKED(rank);
  TH_ASKED(dims);
  TH_ASKED(name);
#undef TH_ASKED
  calls.push_back(garbage_call("expr_text", [](const Expr& x, size_t limit) { (void)expr_text(x, limit); }));
  calls.push_back(garbage_call("graph_text", [](Exprs outputs, const std::vector<Update>& updates) {
    (void)graph_text(Graph{.inputs = {}, .outputs = outputs, .updates = updates});
  }));
}

void add_tensors(std::vector<GarbageCall>& calls) {
#define TH_TENSOR(name, parameters, arguments) \
  calls.push_back(garbage_call("Tensor." #name, [](const Tensor& x TH_UNPACK parameters) { (void)x.name arguments; }))
#define TH_UNPACK(...) __VA_OPT__(, ) __VA_ARGS__
  TH_TENSOR(dtype, (), ());
  TH_TENSOR(shape, (), ());
  TH_TENSOR(strides, (), ());
  TH_TENSOR(rank, (), ());
  TH_TENSOR(size, (), ());
  TH_TENSOR(bytes, (), ());
  TH_TENSOR(is_contiguous, (), ());
  TH_TENSOR(raw, (), ());
  TH_TENSOR(address, (), ());
  TH_TENSOR(is_on_host, (), ());
  TH_TENSOR(space, (), ());
  TH_TENSOR(copy, (), ());
  TH_TENSOR(on_host, (), ());
  TH_TENSOR(contiguous, (), ());
  TH_TENSOR(type_text, (), ());
  TH_TENSOR(dim, (size_t axis), (axis));
  TH_TENSOR(data<float>, (), ());
  TH_TENSOR(at<double>, (int64_t i), ({i}));
  TH_TENSOR(at<int64_t>, (int64_t i, int64_t j), ({i, j}));
  TH_TENSOR(offset, (const std::vector<int64_t>& index), (index));
  TH_TENSOR(as_double, (int64_t i), (i));
  TH_TENSOR(as_int, (int64_t i), (i));
  TH_TENSOR(cast, (DType dtype), (dtype));
  TH_TENSOR(integers_as, (DType dtype), (dtype));
  TH_TENSOR(reshape, (const Shape& shape), (shape));
  TH_TENSOR(rows, (int64_t begin, int64_t count), (begin, count));
  TH_TENSOR(shares_memory_with, (const Tensor& other), (other));
  TH_TENSOR(text, (int64_t limit), (limit));
#undef TH_TENSOR
#undef TH_UNPACK
  calls.push_back(garbage_call("Tensor.view", [](const Tensor& x, const Shape& shape, const Shape& strides,
                                                 int64_t offset) { (void)x.view(shape, strides, offset).text(); }));
  calls.push_back(garbage_call("Tensor.assign", [](const Tensor& x, const Tensor& y) { x.copy().assign(y); }));
  calls.push_back(
      garbage_call("Tensor.empty", [](DType dtype, const Shape& shape) { (void)Tensor::empty(dtype, shape); }));
  calls.push_back(garbage_call("Tensor.zeros", [](DType dtype, const Dims& dims) {
    Shape shape;
    for (const Dim& dim : dims) shape.push_back(dim.is_known() ? std::min<int64_t>(dim.value(), 9) : 2);
    (void)Tensor::zeros(dtype, shape);
  }));
  calls.push_back(garbage_call("Tensor.Tensor", [](double x) { (void)Tensor(x); }));
  calls.push_back(
      garbage_call("Tensor.of", [](const std::vector<int64_t>& x, const Shape& shape) { (void)Tensor::of(x, shape); }));
  calls.push_back(garbage_call("Tensor.vector", [](double x) { (void)Tensor::vector({x, x}); }));
  calls.push_back(garbage_call("Tensor.matrix", [](bool even, double x) {
    (void)(even ? Tensor::matrix<double>({{x}, {x}}) : Tensor::matrix<double>({{x, x}, {x}}));
  }));
  calls.push_back(garbage_call("Tensor.wrap", [](Tensor x, const Shape& shape, const Shape& strides) {
    (void)Tensor::wrap(x.dtype(), shape, strides, x.raw(), std::make_shared<Tensor>(x));
  }));
}

void add_variables(std::vector<GarbageCall>& calls) {
  calls.push_back(garbage_call("Shared.Shared", [](const Tensor& x, const std::string& name, bool borrow) {
    const Shared first(x, name, borrow);
    return Shared(x, name, borrow).expr();
  }));
  calls.push_back(
      garbage_call("Shared.set_value", [](const Shared& s, const Tensor& x, bool borrow) { s.set_value(x, borrow); }));
  calls.push_back(
      garbage_call("Shared.set_value", [](const Shared& s, const Shared& t) { s.set_value(t.get_value(true), true); }));
  calls.push_back(garbage_call("Shared.get_value", [](const Shared& s, bool borrow) { (void)s.get_value(borrow); }));
  calls.push_back(garbage_call("Shared.get_internal_value", [](const Shared& s, const Shared& t, bool borrow) {
    s.set_value(t.get_internal_value(borrow), borrow);
  }));
  calls.push_back(garbage_call("Shared.of_lengths", [](const Dims& lengths, const Tensor& x, const std::string& name) {
    (void)Shared::of_lengths(lengths, x, name);
  }));
  calls.push_back(garbage_call("Shared.scalar", [](const Shared& s) { (void)s.scalar(); }));
  calls.push_back(garbage_call("Shared.keep_on_host", [](const Shared& s) { s.keep_on_host(); }));
  calls.push_back(garbage_call("Shared.set_zero", [](const Shared& s) { s.set_zero(); }));
  calls.push_back(garbage_call("Shared.swap_value", [](const Shared& s, const Shared& t) { s.swap_value(t); }));
  calls.push_back(garbage_call("Shared.operator[]", [](const Shared& s, const Index& i) { return s[i]; }));
  calls.push_back(garbage_call("Shared.T", [](const Shared& s) { return s.T(); }));
#define TH_ASKED(name) calls.push_back(garbage_call("Shared." #name, [](const Shared& s) { (void)s.name(); }))
  TH_ASKED(expr);
  TH_ASKED(name);
  TH_ASKED(type);
  TH_ASKED(storage);
#undef TH_ASKED
  calls.push_back(garbage_call("In.In", [](const Expr& x, const std::optional<Tensor>& value) { (void)In(x, value); }));
  calls.push_back(garbage_call("Out.Out", [](const Expr& x, bool borrow) { (void)Out(x, borrow); }));
}

// Two functions, in reference mode and compiled, that good arguments fit.
Function& known_function(bool native) {
  static const Shared s(Tensor::vector({1.0, 2.0, 3.0}), "s");
  static std::vector<Function> functions = [] {
    std::vector<Function> out;
    const Expr x = matrix("x", {"n", 3}), i = iscalar("i"), v = vector("v");
    for (const Mode mode : {Mode::kReference, Mode::kNative})
      out.push_back(function({x, i, In(v, Tensor::vector({1.0, 2.0}))},
                             {Out(dot(x, s), true), v[i], rows(v, i, 2), zeros({i, i}), x[v > 1]}, {{s, s + 1.0}},
                             {.mode = mode, .threads = 1, .name = "known"}));
    return out;
  }();
  return functions[native];
}

// What the inputs are, or garbage instead of one.
std::vector<Tensor> arguments_of(Arrays garbage, int64_t n) {
  std::vector<Tensor> out = {Tensor::zeros(DType::kFloat64, {2, 3}), Tensor(n), Tensor::vector({1.0, 2.0})};
  if (!garbage.empty()) out[static_cast<size_t>(n & 3) % 3] = garbage[0];
  if (garbage.size() > 2) out.pop_back();
  if (garbage.size() > 1) out.push_back(garbage[1]);
  return out;
}

void add_functions(std::vector<GarbageCall>& calls) {
  // Mostly with the inputs that the outputs need.
  calls.push_back(garbage_call(
      "function", [](const std::vector<In>& given, const std::vector<Out>& outputs, const std::vector<Update>& updates,
                     const FunctionOptions& options, bool complete, Arrays arguments) {
        std::vector<In> inputs = given;
        std::vector<Expr> roots;
        for (const Out& out : outputs) roots.push_back(out.expr);
        if (complete) inputs.clear();
        for (const Expr& leaf : leaves_of(roots))
          if (complete && is_input(leaf)) inputs.emplace_back(leaf);
        Function f = function(inputs, outputs, updates, options);
        f(arguments);
      }));
  using Call = std::function<void(Function&, Arrays)>;
  auto add = [&](std::string name, Call call) {
    calls.push_back(garbage_call(std::move(name), [call](bool native, Arrays garbage, int64_t n) {
      call(known_function(native), arguments_of(garbage, n));
    }));
  };
  add("Function.operator()", [](Function& f, Arrays x) { f(x); });
  add("Function.operator()", [](Function& f, Arrays x) { f({x[0], x[1]}); });
  add("Function.operator()", [](Function& f, Arrays x) { f(std::map<std::string, Tensor>{{"x", x[0]}, {"i", x[1]}}); });
  add("Function.named", [](Function& f, Arrays x) { (void)f.named(x); });
  add("Function.only", [](Function& f, Arrays x) { (void)f.only({0, "y", -1}, x); });
  add("Function.free", [](Function& f, Arrays) { f.free(); });
  add("Function.watch", [](Function& f, Arrays x) { f.watch(x, [](const StepEvent&) {}); });
  add("Function.call_early", [](Function& f, Arrays x) { (void)f.call_early(x, [](size_t, const Tensor&) {}); });
  add("Function.wait", [](Function& f, Arrays) { f.wait(); });
  add("Function.Function", [](Function& f, Arrays x) {
    Function own = f;
    own(x);
  });
  add("Function.profile", [](Function& f, Arrays) { (void)f.profile(); });
  add("Function.start_profile", [](Function& f, Arrays x) {
    Function own = f;
    own.start_profile();
    own(x);
  });
#define TH_ASKED(name) add("Function." #name, [](Function& f, Arrays) { (void)f.name(); })
  TH_ASKED(info);
  TH_ASKED(is_native);
  TH_ASKED(is_compiling);
  TH_ASKED(identity);
  TH_ASKED(name);
  TH_ASKED(explain);
  TH_ASKED(shared_variables);
#undef TH_ASKED
  calls.push_back(garbage_call("Function.copy", [](bool native, const Shared& a, const Shared& b) {
    (void)known_function(native).copy({{a, b}});
  }));
  calls.push_back(garbage_call("Function.save", [](bool native, const std::string& path) {
    known_function(native).save("/dev/null/" + path);  // nowhere
  }));
  calls.push_back(garbage_call("load_function", [](const std::string& path) { load_function(path); }));
  calls.push_back(garbage_call("load_candidates", [](const std::string& path) { load_candidates(path); }));
}

}  // namespace

void add_objects(std::vector<GarbageCall>& calls) {
  add_expressions(calls);
  add_tensors(calls);
  add_variables(calls);
  add_functions(calls);
}

}  // namespace thtrain
