#include "reports/explain/device_section.h"

#include "compiler/codegen/emit.h"
#include "compiler/plan/program.h"
#include "compiler/runtime/occupancy.h"
#include "reports/page/markup.h"
#include "reports/page/page.h"

namespace thtrain {
namespace {

std::string number_cell(int64_t number) {
  return html_cell(std::to_string(number), "number");
}
std::string dim_cell(const Dim& dim) {
  return html_cell(markup_text(readable(dim.text())), "number");
}
std::string row(const std::string& cells) {
  return str("<tr>", cells, "</tr>\n");
}

// Temporaries are as many as steps, and have the memory plan.
std::string places(const Program& program) {
  static constexpr const char* kKinds[] = {"input", "shared variable", "constant", "output", "temporary"};
  std::string rows;
  for (const Buffer& buffer : program.buffers)
    if (buffer.kind != BufferKind::kTemporary)
      rows += row(str(html_cell(markup_text(buffer.name.empty() ? "value" : buffer.name)),
                      html_cell(kKinds[static_cast<size_t>(buffer.kind)]), html_cell(name_of(buffer.dtype), "code"),
                      dim_cell(buffer.elements), html_cell(buffer.on_device ? "device" : "host")));
  return html_table("<th>value</th><th>kind</th><th>dtype</th><th class=\"number\">elements</th><th>lies on</th>",
                    rows);
}

std::string transfers(const Program& program) {
  std::string rows;
  size_t number = 0;
  for_each_step(program.body, [&](const Step& step) {
    const size_t own = number++;
    if (!std::holds_alternative<kernel::Transfer>(step.code)) return;
    const auto buffer = [&](size_t k) { return program.buffers[static_cast<size_t>(step.operands[k].buffer)]; };
    const bool is_in = buffer(1).on_device;
    rows += row(str(number_cell(static_cast<int64_t>(own)), html_cell(is_in ? "to the device" : "to the host"),
                    html_cell(markup_text(buffer(is_in ? 0 : 1).name)),
                    html_cell(markup_text(readable(step.operands[0].type.text())), "code")));
  });
  if (rows.empty()) return "<p>Nothing is copied between host and device.</p>\n";
  return html_table("<th class=\"number\">step</th><th>copied</th><th>value</th><th>type</th>", rows);
}

std::string graphs(const std::vector<GraphPart>& parts) {
  std::string rows;
  for (size_t i = 0; i < parts.size(); ++i) {
    const GraphPart& part = parts[i];
    if (part.nodes().is(0)) continue;
    rows +=
        row(str(number_cell(static_cast<int64_t>(i)), dim_cell(part.nodes()), dim_cell(part.kernels),
                dim_cell(part.copies), html_cell(part.has_checks ? "yes" : "no"),
                html_cell(markup_text(str(part.end, part.loop.empty() ? "" : str(", in each iteration of ", part.loop),
                                          part.has_branch ? "; both sides of a branch are counted" : "")))));
  }
  return html_table(
      "<th class=\"number\">graph</th><th class=\"number\">nodes</th><th class=\"number\">kernels</th><th "
      "class=\"number\">copies</th><th>word of failure</th><th>up to</th>",
      rows);
}

std::string kernels(const Explanation& e, const Source& source) {
  const Occupancy occupancy = occupancy_of(e);
  std::string rows;
  for (size_t i = 0; i < source.text.kernels.size(); ++i) {
    const std::string name = markup_text(source.text.kernels[i].name);
    std::string cells =
        html_cell(str("<a href=\"#", name, "\">", name, "</a>"), "code") + number_cell(source.threads[i]);
    if (occupancy.trouble.empty()) {
      const KernelOccupancy& of = occupancy.kernels[i];
      cells += number_cell(of.needs.registers) + number_cell(static_cast<int64_t>(of.needs.shared)) +
               number_cell(of.needs.local) + number_cell(of.blocks) + number_cell(of.share);
    }
    rows += row(cells);
  }
  std::string head = "<th>kernel</th><th class=\"number\">threads of a block</th>";
  std::string about;
  if (occupancy.trouble.empty()) {
    for (const char* what :
         {"registers of a thread", "shared bytes", "local bytes", "blocks of a multiprocessor", "% of its threads"})
      head += str("<th class=\"number\">", what, "</th>");
    about = str("Registers and memory are those of compute capability ", occupancy.capability / 10, ".",
                occupancy.capability % 10, ", by ", markup_text(occupancy.compiler), ".");
  } else {
    about = str("Registers and occupancy are not known: ", markup_text(occupancy.trouble), ".");
  }
  return str("<p>", about, "</p>\n", html_table(head, rows));
}

}  // namespace

std::string device_section(const Explanation& e) {
  const Source source = emit_cpp(*e.plan);
  return str(
      "<section id=\"device\">\n<h2>On the device</h2>\n<p>Kernels compute in the memory of the device. Values of the "
      "host are copied there before a step that needs them, and back where the host or the caller does.</p>\n",
      places(*e.plan), "<h3>Transfers</h3>\n", transfers(*e.plan),
      "<h3>Graphs</h3>\n<p>What is asked of the device between two waits is launched as one graph.</p>\n",
      graphs(source.graphs), "<h3>Kernels</h3>\n", kernels(e, source), "</section>\n");
}

}  // namespace thtrain
