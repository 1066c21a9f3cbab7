#include "reports/report/report_page.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "compiler/base/escape.h"
#include "compiler/base/str.h"
#include "reports/json.h"
#include "reports/page/markup.h"
#include "reports/page/page.h"

namespace thtrain {
namespace {

std::string shown(std::string_view text) {
  return markup_text(printable(text, "\n"));
}

std::string image(const ReportPicture& picture) {
  return str("<img alt=\"", shown(picture.what), "\" src=\"data:", picture.type, ";base64,", base64(picture.bytes),
             "\"/>");
}

std::string figure_of(const ReportPicture& picture) {
  return str("<figure>", image(picture), "<figcaption>", shown(picture.what), "</figcaption></figure>\n");
}

// One at a time, by a slider; without a script the last one.
std::string figure_of(const ReportSeries& series) {
  std::string images;
  for (const auto& [name, picture] : series.pictures)
    images += str("<span class=\"", &picture == &series.pictures.back().second ? "frame" : "frame other",
                  "\" data-name=\"", shown(name), "\">", image(picture), "</span>");
  return str("<figure class=\"series\">", images, "<figcaption>", shown(series.title),
             " <output></output><input type=\"range\" min=\"0\" max=\"", series.pictures.size() - 1, "\" value=\"",
             series.pictures.size() - 1, "\" aria-label=\"", shown(series.title), "\"/></figcaption></figure>\n");
}

bool is_number(const std::string& text) {
  const size_t at = text.starts_with('-') ? 1 : 0;
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]));
}

std::string run_id(const std::vector<ReportRun>& runs, const std::string& name) {
  for (size_t i = 0; i < runs.size(); ++i)
    if (runs[i].name == name) return str("run-", i);
  return "";
}

std::string table_of(const ReportTable& table, const std::vector<ReportRun>& runs) {
  std::string head, rows;
  const size_t columns = table.rows[0].size();
  std::vector<bool> numbers(columns, true);
  for (size_t i = 1; i < table.rows.size(); ++i)
    for (size_t k = 0; k < columns; ++k)
      numbers[k] = numbers[k] && (table.rows[i][k].empty() || table.rows[i][k] == "-" || is_number(table.rows[i][k]));
  for (size_t k = 0; k < columns; ++k)
    head += str(numbers[k] ? "<th class=\"number\">" : "<th>", shown(table.rows[0][k]), "</th>");
  for (size_t i = 1; i < table.rows.size(); ++i) {
    const std::string name = i <= table.links.size() ? table.links[i - 1] : "", id = run_id(runs, name);
    rows += name.empty() ? "<tr>" : str("<tr data-run=\"", shown(name), "\">");
    for (size_t k = 0; k < columns; ++k) {
      const std::string text = shown(table.rows[i][k]);
      rows += html_cell(k == 0 && !id.empty() ? str("<a href=\"#", id, "\">", text, "</a>") : text,
                        numbers[k] ? "number" : "");
    }
    rows += "</tr>\n";
  }
  return (table.title.empty() ? "" : str("<h3>", shown(table.title), "</h3>\n")) + html_table(head, rows);
}

std::string section_of(const ReportRun& run, size_t number, const std::vector<ReportRun>& runs) {
  std::string out = str("<section id=\"run-", number, "\">\n<h2>", shown(run.name), "</h2>\n<p class=\"soft\"><code>",
                        shown(run.folder), "</code></p>\n<ul class=\"facts\">\n");
  for (const auto& [name, value] : run.facts)
    out += str("<li><span>", shown(name), "</span><b>", shown(value), "</b></li>\n");
  out += "</ul>\n";
  if (!run.note.empty()) out += str("<p>", shown(run.note), "</p>\n");
  std::string pictures;
  for (const ReportPicture& picture : run.pictures) pictures += figure_of(picture);
  for (const ReportSeries& series : run.series) pictures += figure_of(series);
  if (!pictures.empty()) out += str("<div class=\"pictures\">\n", pictures, "</div>\n");
  for (const ReportTable& table : run.tables) out += table_of(table, runs);
  if (!run.left_out.empty()) {
    std::string items;
    for (const std::string& line : run.left_out) items += str("<li>", shown(line), "</li>\n");
    out += html_folded("what is not shown", str("<ul>\n", items, "</ul>\n"));
  }
  return out + html_folded("the configuration, with every default", html_pre(shown(run.config))) + "</section>\n";
}

std::string json_list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) out += str(out.size() > 1 ? "," : "", value);
  return out + "]";
}

std::string json_strings(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(json_string(printable(text)));
  return json_list(out);
}

std::string json_of(const ReportCurves& curves) {
  JsonObject values;
  for (const auto& [key, points] : curves.values) {
    std::vector<std::string> x, y;
    for (const Point& point : points) {
      x.push_back(json_number(point.first));
      y.push_back(json_number(point.second));
    }
    values.add_raw(key, str("[", json_list(x), ",", json_list(y), "]"));
  }
  std::vector<std::string> phases;
  for (const auto& [begin, name] : curves.phases)
    phases.push_back(str("[", json_number(begin), ",", json_string(printable(name)), "]"));
  JsonObject out;
  out.add("name", printable(curves.name)).add_raw("values", values.line()).add_raw("phases", json_list(phases));
  if (curves.best)
    out.add_raw("best", str("[", json_number(curves.best->first), ",", json_number(curves.best->second), "]"));
  return out.line();
}

std::string json_of(const ReportPlot& plot) {
  std::vector<std::string> rows;
  for (const std::vector<std::string>& row : plot.values) rows.push_back(json_strings(row));
  return JsonObject()
      .add_raw("axes", json_strings(plot.axes))
      .add("larger", plot.larger_is_better)
      .add_raw("names", json_strings(plot.names))
      .add_raw("values", json_list(rows))
      .line();
}

std::string data_of(const Report& report) {
  std::vector<std::string> measures, curves, plots;
  for (const ReportMeasure& measure : report.measures)
    measures.push_back(
        JsonObject().add("label", measure.label).add("name", measure.name).add("main", measure.goes_by_it).line());
  for (const ReportCurves& run : report.curves) curves.push_back(json_of(run));
  for (const ReportGroup& group : report.groups)
    if (group.plot) plots.push_back(json_of(*group.plot));
  return JsonObject()
      .add("reload", report.reload)
      .add_raw("measures", json_list(measures))
      .add_raw("runs", json_list(curves))
      .add_raw("plots", json_list(plots))
      .line();
}

std::string navigation_of(const Report& report) {
  std::string out = "<nav><div>";
  if (!report.curves.empty()) out += "<a href=\"#curves\">curves</a>\n";
  for (size_t i = 0; i < report.groups.size(); ++i)
    out += str("<a href=\"#group-", i, "\">", shown(report.groups[i].title), "</a>\n");
  for (size_t i = 0; i < report.runs.size(); ++i)
    out += str("<a href=\"#run-", i, "\">", shown(report.runs[i].name), "</a>\n");
  return out + "</div></nav>\n";
}

}  // namespace

std::string report_page(const Report& report) {
  std::string body = str("<header>\n<h1>", shown(report.title), "</h1>\n<p class=\"soft\">written ", shown(report.time),
                         report.reload > 0 ? ", and again while runs go on" : "", "</p>\n</header>\n",
                         navigation_of(report), "<main>\n");
  if (!report.curves.empty()) {
    body +=
        "<section id=\"curves\">\n<h2>Learning curves</h2>\n<div class=\"chart\"><noscript><p>The curves are drawn by "
        "the page's script, which this browser does not run.</p></noscript></div>\n";
    if (!report.about_curves.empty()) body += str("<p class=\"soft\">", shown(report.about_curves), "</p>\n");
    body += "</section>\n";
  }
  size_t plots = 0;
  for (size_t i = 0; i < report.groups.size(); ++i) {
    const ReportGroup& group = report.groups[i];
    body += str("<section id=\"group-", i, "\">\n<h2>", shown(group.title), "</h2>\n");
    if (!group.about.empty()) body += str("<p>", shown(group.about), "</p>\n");
    if (group.plot) body += str("<div class=\"parallel\" data-plot=\"", plots++, "\"></div>\n");
    for (const ReportTable& table : group.tables) body += table_of(table, report.runs);
    body += "</section>\n";
  }
  for (size_t i = 0; i < report.runs.size(); ++i) body += section_of(report.runs[i], i, report.runs);
  return page_text({.title = report.title,
                    .maker = kReportMaker,
                    .style = kReportStyle,
                    .body = body + "</main>\n",
                    .data = data_of(report),
                    .script = str(kReportScript, kChartScript, kPlotScript)});
}

}  // namespace thtrain
