#include "reports/explain/page.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "compiler/ir/roles.h"
#include "compiler/plan/program.h"
#include "compiler/plan/step_roles.h"
#include "reports/explain/device_section.h"
#include "reports/explain/graph_drawing.h"
#include "reports/explain/graph_figures.h"
#include "reports/explain/memory_drawing.h"
#include "reports/explain/pass_changes.h"
#include "reports/json.h"
#include "reports/page/markup.h"
#include "reports/page/page.h"

namespace thtrain {
namespace {

const std::string kAboutGraph = R"(<section id="graph">
<h2>The expression graph</h2>
<p>What the layers wrote down, and where the function trains the loss, the gradient and the updates; before any pass,
but equal expressions are one box. Every box is an operation, with its number and the layer that it belongs to; every
edge carries a value of the type that is written on it. A dashed edge carries an integer that is a length or an index
of what the box at its end gives. Scalar constants are written in the boxes that read them. A box with the sign
<b>&#8706;</b> and a bar at its left belongs to the gradient, the derivative of the loss; it has the layer of the node
that was differentiated. One with the sign <b>&#916;</b> belongs to the update, the step that the optimizer takes. All
others are the forward pass. Where passes fuse nodes, one box may be of several.</p>
)";
const std::string kAboutPasses = R"(<section id="passes">
<h2>The passes</h2>
<p>Each pass takes a graph and gives a graph that computes the same. A rule says how far:
<span class="safety exact">exact</span> keeps every bit, <span class="safety">reassociating</span> is equal up to
rounding, <span class="safety">range-changing</span> is finite in more cases,
<span class="safety finite-math">finite-math</span> takes all values for finite. In the picture of a pass every box
stays at one position, while the arrows go from rewrite to rewrite.</p>
<p>A fused node has a graph of its own inside, its body, whose nodes are counted too: the operations that one kernel
does, and the inputs that it reads, once more in each body that reads them. So the number of nodes grows by fusion,
although fewer steps are left.</p>
)";
const std::string kAboutProgram = R"(<section id="program">
<h2>The program</h2>
<p>The steps of one call, in order. A step is a generated kernel, whose text is below, or a call of a library. Its
role says whether it belongs to the forward pass, the gradient or the updates, or computes parts of several.</p>
)";
std::string language_of(const Explanation& e) {
  const kernel::Language language = e.plan->target.language();
  return language == kernel::Language::kC99 ? "C99" : language == kernel::Language::kCuda ? "C++ and CUDA C++" : "C++";
}

std::string number_text(int64_t count, const std::string& noun) {
  return str(count, " ", noun, count == 1 ? "" : "s");
}

// ---- the function as a whole ---------------------------------------------------------------------------------------

// Nodes that are in no body.
size_t outer_count(const Graph& graph) {
  const std::vector<Expr> roots = graph.roots();
  return topological_order(roots).size();
}

size_t step_count(const Explanation& e) {
  size_t out = 0;
  for_each_step(e.plan->body, [&](const Step&) { ++out; });
  return out;
}

std::string header(const Explanation& e, const PageTitle& title) {
  auto item = [](const char* link, size_t count, const std::string& what) {
    return str("<li><a href=\"#", link, "\"><b>", count, "</b> ", what, "</a></li>\n");
  };
  std::string out =
      str("<header>\n<h1>", markup_text(title.experiment), "</h1>\n<p class=\"soft\">", markup_text(title.function),
          ": from the expression to the code that runs</p>\n<ol class=\"way\">\n",
          item("graph", outer_count(e.given), "nodes in the graph"));
  for (size_t i = 0; i < e.passes.size(); ++i) {
    const PassRecord& pass = e.passes[i];
    if (i + 1 == e.passes.size() || e.passes[i + 1].stage != pass.stage)
      out += item(str("pass-", pass.name).c_str(), outer_count(pass.after),
                  pass.nodes_after > outer_count(pass.after)
                      ? str(pass.stage, ", with ", pass.nodes_after - outer_count(pass.after), " inside")
                      : pass.stage);
  }
  const auto lines = static_cast<size_t>(std::count(e.cpp.begin(), e.cpp.end(), '\n'));
  return out + item("program", step_count(e), "steps") + item("cpp", lines, "lines of " + language_of(e)) +
         "</ol>\n</header>\n";
}

std::string navigation(const std::vector<PassChange>& changes, const std::string& language, bool is_of_device) {
  std::string out = "<nav><div><a href=\"#graph\">graph</a>\n";
  for (const PassChange& change : changes)
    out += str("<a href=\"#pass-", markup_text(change.pass->name), "\"",
               change.difference.empty() ? " class=\"still\"" : "", ">", markup_text(change.pass->name), "</a>\n");
  return out + str("<a href=\"#program\">program</a>\n", is_of_device ? "<a href=\"#device\">device</a>\n" : "",
                   "<a href=\"#memory\">memory</a>\n<a href=\"#cpp\">", language, "</a></div></nav>\n");
}

// The kinds that occur in any of the graphs.
std::string legend(const Explanation& e) {
  static constexpr std::array<std::pair<const char*, const char*>, 15> kKinds = {{{"input", "input"},
                                                                                  {"shared", "shared variable"},
                                                                                  {"constant", "constant"},
                                                                                  {"elemwise", "elementwise"},
                                                                                  {"reduce", "reduction"},
                                                                                  {"linalg", "matrix product"},
                                                                                  {"conv", "convolution"},
                                                                                  {"pool", "pooling"},
                                                                                  {"shape", "shape"},
                                                                                  {"index", "indexing"},
                                                                                  {"nnet", "softmax and its like"},
                                                                                  {"fused", "fused: one kernel"},
                                                                                  {"effect", "print, check"},
                                                                                  {"control", "loop, branch"},
                                                                                  {"other", "another op"}}};
  std::set<std::string_view> used;
  auto collect = [&](const Graph& graph) {
    for (const Node* node : text_order(graph)) used.insert(kind_of_node(*node));
  };
  collect(e.given);
  for (const PassRecord& pass : e.passes) collect(pass.after);
  auto row = [](std::string_view kind, std::string_view what) {
    return str("<li><svg xmlns=\"http://www.w3.org/2000/svg\"><g class=\"node ", kind,
               "\"><rect x=\"2\" y=\"2\" width=\"22\" height=\"12\" rx=\"3\"/></g></svg>", what, "</li>\n");
  };
  std::string out = "<ul class=\"legend\">\n";
  for (const auto& [kind, what] : kKinds)
    if (used.erase(kind)) out += row(kind, what);
  for (std::string_view kind : used) out += row(kind, kind);  // families that have no words of their own
  for (const char* role : {"gradient", "update"})
    out += str(
        "<li><svg xmlns=\"http://www.w3.org/2000/svg\"><g class=\"node input of-", role,
        "\"><rect x=\"2\" y=\"2\" width=\"22\" height=\"12\" rx=\"3\"/><path class=\"role\" d=\"M5 3v10\"/></g></svg>",
        role, std::string_view(role) == "gradient" ? ": &#8706;" : ": &#916;", "</li>\n");
  return out + row("output", "output") + row("update", "update of a shared variable") +
         row("gone", "removed by a rewrite") + row("come", "added by a rewrite") + "</ul>\n";
}

std::string given_graph(const Explanation& e, GraphFigures& figures) {
  std::string out = kAboutGraph + legend(e);
  if (!figures.why_no_values().empty())
    out += str("<p class=\"soft\">Values of a minibatch are not shown: ", markup_text(figures.why_no_values()),
               ". A smaller minibatch may do: <code>trainer.batch_size=10</code> behind the command.</p>\n");
  return out + figures.of_given() + "</section>\n";
}

// ---- passes --------------------------------------------------------------------------------------------------------

std::string pass_table(const std::vector<PassChange>& changes, bool with_times) {
  std::string rows;
  for (const PassChange& change : changes) {
    const PassRecord& pass = *change.pass;
    rows +=
        str("<tr>", html_cell(str("<a href=\"#pass-", markup_text(pass.name), "\">", markup_text(pass.name), "</a>")),
            html_cell(markup_text(pass.what), "code"), html_cell(markup_text(pass.stage)),
            html_cell(std::to_string(pass.nodes_before), "number"),
            html_cell(std::to_string(pass.nodes_after), "number"), html_cell(std::to_string(change.fired), "number"),
            with_times ? html_cell(json_fixed(1e3 * pass.seconds, 3), "number") : "", "</tr>\n");
  }
  return html_table(str("<th>pass</th><th>for example</th><th>stage</th><th class=\"number\">nodes before</th><th "
                        "class=\"number\">after</th><th class=\"number\">rewrites</th>",
                        with_times ? "<th class=\"number\">milliseconds</th>" : ""),
                    rows);
}

// A row for each rule, with its first rewrite.
std::string rule_table(const std::vector<RuleUse>& uses) {
  std::vector<const RuleUse*> rules;
  std::map<std::string, int64_t> times;
  for (const RuleUse& use : uses) {
    if (times.count(use.rule) == 0) rules.push_back(&use);
    times[use.rule] += use.times;
  }
  std::string rows;
  for (const RuleUse* use : rules) {
    const std::string safety = name_of(use->safety);
    rows +=
        str("<tr>", html_cell(std::to_string(times[use->rule]), "number"), html_cell(markup_text(use->rule)),
            html_cell(str("<span class=\"safety ", safety, "\">", safety, "</span>")),
            html_cell(str(markup_text(use->before), "<span class=\"arrow\">&#8594;</span>", markup_text(use->after)),
                      "code"),
            "</tr>\n");
  }
  return html_table("<th class=\"number\">times</th><th>rule</th><th>keeps</th><th>an example</th>", rows);
}

std::string coloured_difference(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    out += str("<span class=\"", text[begin] == '+' ? "come" : "gone", "\">",
               markup_text(text.substr(begin, end - begin)), "</span>\n");
    begin = end + 1;
  }
  return out;
}

// Of a pass without rules: what became of the numbers of nodes.
std::string about_counts(const PassChange& change) {
  const PassRecord& pass = *change.pass;
  std::string out = "<p>No rules, and so no rewrites to count: the pass rebuilds parts of the graph as a whole.";
  const size_t outer_before = outer_count(*change.before), outer = outer_count(pass.after);
  const size_t inside_before = pass.nodes_before - outer_before, inside = pass.nodes_after - outer;
  if (inside > inside_before)
    out += str(" The graph itself had ", outer_before, " nodes and has ", outer,
               " now. The bodies of its fused nodes have ", inside,
               inside_before > 0 ? str(" (", inside_before, " before)") : std::string(),
               ", the inputs of each body among them: ", pass.nodes_after, " in all.");
  return out + "</p>\n";
}

std::string pass_section(const PassChange& change, GraphFigures& figures) {
  const PassRecord& pass = *change.pass;
  const bool still = change.difference.empty() && change.rules.empty();
  std::string out = str("<details class=\"pass\" id=\"pass-", markup_text(pass.name), "\"",
                        still ? "" : " open=\"open\"", "><summary><h3>", markup_text(pass.name), "</h3> <code>",
                        markup_text(pass.what), "</code><span class=\"count\">",
                        still ? str(pass.nodes_after, " nodes, unchanged")
                              : str(pass.nodes_before, " &#8594; ", pass.nodes_after, " nodes"),
                        "</span></summary>\n");
  if (still) return out + "<p>The graph is as it was.</p>\n</details>\n";
  if (change.rules.empty())
    out += about_counts(change);
  else
    out += rule_table(change.rules);
  if (!change.difference.empty()) {
    out += figures.of_pass(change);
    out += html_folded(
        str("the lines that changed: ", number_text(static_cast<int64_t>(change.difference.removed.size()), "node"),
            " removed, ", number_text(static_cast<int64_t>(change.difference.added.size()), "node"), " added, ",
            number_text(static_cast<int64_t>(change.difference.same), "node"), " unchanged"),
        html_pre(coloured_difference(readable(change.difference.text))), !GraphFigures::is_drawn(change));
  }
  return out + "</details>\n";
}

// ---- the program ---------------------------------------------------------------------------------------------------

// Finds the kernels that the entry calls, step after step.
class EntryReader {
 public:
  explicit EntryReader(const std::string& cpp) : cpp_(cpp), at_(cpp.find("thtrain_entry(")) {}

  /// The name of the function that a step calls for its kernel; "" where the entry has none.
  std::string function_of(size_t step, const std::string& kernel) {
    const size_t begin = cpp_.find(str("// ", step, ": "), at_);
    if (begin == std::string::npos) return {};
    at_ = begin;
    const size_t end = cpp_.find(str("// ", step + 1, ": "), begin);
    const size_t name = std::min(cpp_.find(str("_", kernel, ","), begin), cpp_.find(str("_", kernel, " */"), begin));
    if (name == std::string::npos || name > end) return {};
    const size_t first = cpp_.rfind(' ', name) + 1;
    return cpp_.substr(first, name + 1 + kernel.size() - first);
  }

 private:
  const std::string& cpp_;
  size_t at_;
};

std::string code_of_step(const Step& step, size_t number, EntryReader& entry) {
  if (const auto* call = std::get_if<kernel::KernelCall>(&step.code)) {
    const std::string function = entry.function_of(number, call->function->name);
    const std::string text = markup_text(call->function->name);
    return function.empty() ? text : str("<a href=\"#", markup_text(function), "\">", text, "</a>");
  }
  if (const auto* call = std::get_if<kernel::LibraryCall>(&step.code))
    return markup_text(str(step.candidate_file.empty() ? "library: " : "", text_of(step, *call)));
  return std::holds_alternative<kernel::Transfer>(step.code) ? "a transfer" : "a call of the reference";
}

std::string views(const Program& program, std::span<const BufferView> operands) {
  return join(operands, "<br/>", [&](const BufferView& view) {
    if (view.buffer < 0) return std::string("token");
    const Buffer& buffer = program.buffers[static_cast<size_t>(view.buffer)];
    return str(markup_text(str(buffer.name.empty() ? "value" : buffer.name, "#", view.buffer)),
               " <span class=\"whole\">", markup_text(readable(view.type.text())), "</span>");
  });
}

std::string role_markup(const Roles& roles) {
  const char* kind = roles.gradient ? "gradient" : roles.update ? "update" : "forward";
  return str("<span class=\"", kind, "\">", text_of(roles), "</span>");
}

std::string heading_row(const std::string& text) {
  return str("<tr><td></td><td colspan=\"5\">", markup_text(text), "</td></tr>\n");
}

void add_steps(const Program& program, const std::vector<Roles>& roles, const Region& region, EntryReader& entry,
               size_t& number, std::string& rows) {
  for (const auto& item : region.items) {
    if (const Step* step = std::get_if<Step>(&item)) {
      const std::span<const BufferView> operands(step->operands);
      rows += str("<tr>", html_cell(std::to_string(number), "number"), html_cell(role_markup(roles[number])),
                  html_cell(markup_text(step->comment)), html_cell(code_of_step(*step, number, entry), "code"),
                  html_cell(views(program, operands.first(step->inputs)), "code"),
                  html_cell(views(program, operands.subspan(step->inputs, step->outputs)), "code"), "</tr>\n");
      ++number;
    } else if (const Loop* loop = std::get_if<Loop>(&item)) {
      rows += heading_row(
          str("loop, ", readable(loop->count.text()), " times", loop->until ? " at most" : "", ": ", loop->comment));
      add_steps(program, roles, *loop->body, entry, number, rows);
      rows += heading_row("end of the loop");
    } else {
      const Branch& branch = std::get<Branch>(item);
      rows += heading_row("if: " + branch.comment);
      add_steps(program, roles, *branch.then, entry, number, rows);
      rows += heading_row("else");
      add_steps(program, roles, *branch.otherwise, entry, number, rows);
      rows += heading_row("end of the branch");
    }
  }
}

std::string program_section(const Explanation& e) {
  std::string rows;
  size_t number = 0;
  EntryReader entry(e.cpp);
  add_steps(*e.plan, step_roles(*e.plan), e.plan->body, entry, number, rows);
  return kAboutProgram +
         html_table(
             "<th class=\"number\">step</th><th>role</th><th>computes</th><th>code</th><th>reads</th><th>writes</th>",
             rows) +
         html_folded("buffers and steps as text", html_pre(markup_text(e.program))) + "</section>\n";
}

std::string memory_section(const Program& program) {
  auto bytes = [](const Dim& dim) {
    return dim.is_known() ? bytes_text(static_cast<double>(dim.value())) : readable(dim.text()) + " bytes";
  };
  std::string out = str("<section id=\"memory\">\n<h2>The memory plan</h2>\n<p>Temporaries share one arena of <b>",
                        markup_text(bytes(program.memory.arena_bytes)), "</b>; live at the peak are <b>",
                        markup_text(bytes(program.memory.lower_bound)), "</b>.");
  const std::string picture = memory_drawing(program);
  if (picture.empty())
    return out +
           " There is nothing to draw: the lengths are known only at the call, or there are no "
           "temporaries.</p>\n</section>\n";
  return out +
         " Steps run to the right, bytes of the arena downwards, not to scale. Buffers that do not live at the "
         "same time lie on the same bytes.</p>\n<div class=\"wide\">" +
         picture + "</div>\n</section>\n";
}

// Each kernel's definition can be linked to.
std::string cpp_section(const std::string& cpp, const std::string& language, bool is_of_device) {
  const std::string_view opening = is_of_device ? "extern \"C\" __global__ void " : "static void ";
  std::string out;
  size_t from = 0;
  for (size_t at = cpp.find(opening); at != std::string::npos; at = cpp.find(opening, at + 1)) {
    const size_t begin = at + opening.size(), end = cpp.find('(', begin);
    if (end == std::string::npos || (at > 0 && cpp[at - 1] != '\n')) continue;
    if (const size_t line_end = cpp.find('\n', at); cpp[line_end - 1] == ';') continue;  // a declaration
    out += cpp_markup(std::string_view(cpp).substr(from, at - from));
    out += str("<a class=\"mark\" id=\"", markup_text(cpp.substr(begin, end - begin)), "\"></a>");
    from = at;
  }
  out += cpp_markup(std::string_view(cpp).substr(from));
  return str(
      "<section id=\"cpp\">\n<h2>The ", language,
      " text</h2>\n<p>One translation unit: first the entry, which runs the steps, then the kernels, last what they "
      "call.</p>\n",
      html_pre(out), "</section>\n");
}

}  // namespace

std::string explain_page(const Explanation& explanation, const PageTitle& title, std::span<const Tensor> minibatch) {
  const std::vector<PassChange> changes = pass_changes(explanation);
  const std::string language = language_of(explanation);
  GraphFigures figures(explanation, changes, minibatch);
  const bool is_of_device = explanation.plan->target.is_device();
  std::string out = header(explanation, title) + navigation(changes, language, is_of_device) + "<main>\n";
  out += given_graph(explanation, figures);
  out += kAboutPasses + pass_table(changes, title.with_times);
  for (const PassChange& change : changes) out += pass_section(change, figures);
  out += "</section>\n";
  out += program_section(explanation);
  if (is_of_device) out += device_section(explanation);
  out += memory_section(*explanation.plan) + cpp_section(explanation.cpp, language, is_of_device);
  return page_text({.title = str(title.experiment, ", explained"),
                    .maker = "thtrain explain",
                    .style = kExplainStyle,
                    .body = out + "</main>\n",
                    .data = figures.data(),
                    .script = kExplainScript});
}

}  // namespace thtrain
