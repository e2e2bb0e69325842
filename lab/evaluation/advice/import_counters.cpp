// Nsight Compute's CSV as rows of operators.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "base/csv.hpp"
#include "base/text_file.hpp"
#include "evaluation/advice/counters.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

double product(const Json& sizes, std::size_t first, std::size_t last) {
  double result = 1;
  for (std::size_t i = first; i < last; ++i) result *= sizes[i].get<double>();
  return result;
}

// The operator in the grammar of --operator; nullopt for what it cannot say.
std::optional<std::string> operator_text(const Json& op) {
  const std::string kind = op.at("op");
  if (kind == "gemm") return fmt::format("gemm:m={},n={},k={}", op["m"].dump(), op["n"].dump(), op["k"].dump());
  const Json& x = op.at("x");
  if (kind == "relu" || kind == "gelu" || kind == "add")
    return fmt::format("{}:n={:.0f}", kind, product(x, 0, x.size()));
  if (kind == "softmax" || kind == "layer_norm")
    return fmt::format("{}:rows={:.0f},cols={}", kind, product(x, 0, x.size() - 1), x.back().dump());
  if (x.size() != 4) return std::nullopt;
  const std::string image = fmt::format("batch={},c={},h={},w={}", x[0].dump(), x[1].dump(), x[2].dump(), x[3].dump());
  if (kind == "batch_norm") return "batch_norm:" + image;
  if (kind != "conv" && kind != "max_pool") return std::nullopt;
  const std::int64_t kernel = op["kernel"][0], stride = op["stride"][0], padding = op["padding"][0];
  if (op["kernel"][1] != kernel || op["stride"][1] != stride || padding != kernel / 2) return std::nullopt;
  std::string text = fmt::format("{}:{},kernel={},stride={}", kind, image, kernel, stride);
  if (kind == "conv") text += fmt::format(",filters={},groups={}", op["filters"].dump(), op["groups"].dump());
  return text;
}

// Without ncu's own lines before the header and the line of units after it.
std::string table_of(const std::string& text) {
  std::istringstream lines(text);
  std::string line, table;
  bool is_inside = false, is_header = false;
  while (std::getline(lines, line)) {
    if (!is_inside && line.starts_with("\"ID\"")) is_inside = is_header = true;
    if (!is_inside || line.starts_with("==")) continue;
    if (!is_header && line.starts_with("\"\"")) continue;  // units
    table += line + "\n";
    is_header = false;
  }
  return table;
}

// "123,456.7" as a number; 0 where the counter could not be read.
double counter(const CsvReader& csv, std::string_view name) {
  std::string text(csv.field(name));
  std::erase(text, ',');
  return text.empty() || text[0] < '0' || text[0] > '9' ? 0 : std::stod(text);
}

// Which operator a kernel belongs to. Its range "op:ID" names it; gradients run in a thread of autograd's, outside the
// range, and follow in the order of the list, each with as many kernels as PyTorch's profiler saw.
class Owners {
 public:
  Owners(std::vector<CounterRow>& rows, const Json& times) {
    for (CounterRow& row : rows) {
      by_id_[row.id] = &row;
      if (row.direction != "backward" || !times.contains(row.id)) continue;
      for (const Json& kernel : times[row.id]) {
        if (!kernel[0].get<std::string>().starts_with("Mem")) gradients_.push_back(&row);  // no Memset, no Memcpy
      }
    }
  }
  CounterRow* of(const CsvReader& csv) {
    bool has_range = false;
    for (std::size_t i = 0; i < csv.columns().size(); ++i) {
      if (csv.columns()[i].find("Push/Pop_Range") == std::string::npos) continue;
      const std::string_view field = csv.field(i);
      const std::size_t at = field.find("op:");
      if (at == std::string_view::npos) continue;
      has_range = true;
      const std::string_view rest = field.substr(at + 3);
      const std::size_t end = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789");
      const auto found = by_id_.find(std::string(rest.substr(0, end)));
      if (found != by_id_.end()) return found->second;
    }
    return has_range || next_ >= gradients_.size() ? nullptr : gradients_[next_++];
  }
  // Whether every gradient's kernel was met.
  [[nodiscard]] bool are_complete() const { return next_ == 0 || next_ == gradients_.size(); }

 private:
  std::map<std::string, CounterRow*> by_id_;
  std::vector<CounterRow*> gradients_;
  std::size_t next_ = 0;
};

double plain_flops(const CsvReader& csv) {
  const auto of = [&](const char* op) {
    return counter(csv, fmt::format("smsp__sass_thread_inst_executed_op_{}_pred_on.sum", op));
  };
  return of("fadd") + of("fmul") + 2 * of("ffma") + 2 * (of("hadd") + of("hmul") + 2 * of("hfma"));
}

double tensor_flops(const CsvReader& csv) {
  double most = 0;  // of counters for several formats only one counts
  for (const std::string& name : csv.columns()) {
    if (name.starts_with("sm__ops_path_tensor") && name.ends_with(".sum")) most = std::max(most, counter(csv, name));
  }
  return most;
}

}  // namespace

Result<std::vector<CounterRow>> import_counters(const fs::path& operators, const fs::path& counters,
                                                const fs::path& times) {
  FORERUN_TRY(const std::string list, read_text_file(operators.string()));
  Json kernel_times = Json::object();
  if (fs::exists(times)) {
    FORERUN_TRY(const std::string text, read_text_file(times.string()));
    kernel_times = Json::parse(text, nullptr, false);
    if (!kernel_times.is_object()) return bad_input(times.string() + ": no JSON object");
  }
  std::vector<CounterRow> rows;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    const Json op = Json::parse(line, nullptr, false);
    if (op.is_discarded()) return bad_input(operators.string() + ": a line is no JSON");
    const auto text = operator_text(op);
    if (text)
      rows.push_back({op.at("id"), op.at("source"), *text, op.at("precision"), op.value("direction", "forward")});
  }
  for (CounterRow& row : rows) {
    if (!kernel_times.contains(row.id)) continue;
    for (const Json& kernel : kernel_times[row.id]) row.warm_us += kernel[1].get<double>();
  }
  Owners owners(rows, kernel_times);
  FORERUN_TRY(const std::string raw, read_text_file(counters.string()));
  FORERUN_TRY(CsvReader csv, CsvReader::from_text(table_of(raw), counters.string()));
  while (true) {
    FORERUN_TRY(const bool has_row, csv.next());
    if (!has_row) break;
    CounterRow* found = owners.of(csv);
    if (found == nullptr) continue;
    CounterRow& row = *found;
    const double read = counter(csv, "dram__bytes_read.sum");
    row.kernels += 1;
    row.us += counter(csv, "gpu__time_duration.sum") / 1e3;
    row.l1_bytes += counter(csv, "l1tex__t_bytes.sum");
    row.l2_bytes += std::max(0.0, counter(csv, "lts__t_bytes.sum") - read);  // without the fills from memory
    row.memory_bytes += read + counter(csv, "dram__bytes_write.sum");
    row.plain_flops += plain_flops(csv);
    row.tensor_flops += tensor_flops(csv);
  }
  if (!owners.are_complete())
    return bad_input(counters.string() + ": the kernels of gradients are not those of " + times.string());
  std::erase_if(rows, [](const CounterRow& row) { return row.kernels == 0 || row.memory_bytes <= 0; });
  return rows;
}

std::string to_csv(const std::vector<CounterRow>& rows) {
  std::string text =
      "id,source,operator,precision,direction,kernels,us,warm_us,l1_bytes,l2_bytes,memory_bytes,plain_flops,tensor_"
      "flops\n";
  for (const CounterRow& r : rows) {
    text += fmt::format("{},{},\"{}\",{},{},{},{:.3f},{:.3f},{:.0f},{:.0f},{:.0f},{:.0f},{:.0f}\n", r.id, r.source,
                        r.text, r.precision, r.direction, r.kernels, r.us, r.warm_us, r.l1_bytes, r.l2_bytes,
                        r.memory_bytes, r.plain_flops, r.tensor_flops);
  }
  return text;
}

Result<std::vector<CounterRow>> read_counters(const fs::path& path) {
  FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
  std::vector<CounterRow> rows;
  while (true) {
    FORERUN_TRY(const bool has_row, csv.next());
    if (!has_row) return rows;
    const auto text = [&](const char* column) { return std::string(csv.field(column)); };
    const auto get = [&](const char* column) { return csv.number(column).value_or(0); };
    rows.push_back({text("id"), text("source"), text("operator"), text("precision"), text("direction"),
                    std::int64_t(get("kernels")), get("us"), get("warm_us"), get("l1_bytes"), get("l2_bytes"),
                    get("memory_bytes"), get("plain_flops"), get("tensor_flops")});
  }
}

}  // namespace forerun
