// The files of published_data.hpp: numbers as the machine keeps them, counts before contents. Node rows repeat within
// and across graphs: distinct ones are stored once, without their zeros.
#include "training/gnn/published_data.hpp"

#include <cstring>
#include <map>
#include <type_traits>

namespace forerun {
namespace {

constexpr std::uint64_t kMagic = 0x3130415441445046;  // "FPDATA01"

// One visitor for both directions, so that what is written is what is read.
class Writer {
 public:
  template <typename T>
  void number(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename T>
  void list(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    number(std::uint64_t(values.size()));
    if (!values.empty()) bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void text(const std::string& value) {
    number(std::uint64_t(value.size()));
    bytes_ += value;
  }
  template <typename T, typename Each>
  void each(const std::vector<T>& values, Each visit) {
    number(std::uint64_t(values.size()));
    for (const T& value : values) visit(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  void number(T& value) {
    if (sizeof value > bytes_.size()) return fail();
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  template <typename T>
  void list(std::vector<T>& values) {
    const std::uint64_t count = size();
    if (count > bytes_.size() / sizeof(T)) return fail();
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), bytes_.data(), count * sizeof(T));
    bytes_.remove_prefix(count * sizeof(T));
  }
  void text(std::string& value) {
    const std::uint64_t count = size();
    if (count > bytes_.size()) return fail();
    value = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
  }
  template <typename T, typename Each>
  void each(std::vector<T>& values, Each visit) {
    const std::uint64_t count = size();
    if (count > bytes_.size()) return fail();  // every element takes a byte or more
    values.resize(count);
    for (T& value : values) visit(value);
  }
  void fail() {
    failed_ = true;
    bytes_ = {};
  }
  [[nodiscard]] bool whole() const { return !failed_ && bytes_.empty(); }

 private:
  std::uint64_t size() {
    std::uint64_t count = 0;
    number(count);
    return count;
  }
  std::string_view bytes_;
  bool failed_ = false;
};

struct RowTable {
  std::int32_t width = 0;
  std::vector<std::uint32_t> starts = {0};  // of each row's values
  std::vector<std::uint8_t> columns;
  std::vector<float> values;
};

void write_graphs(Writer& writer, const std::vector<GraphTensors>& graphs) {
  RowTable table;
  std::map<std::string, std::uint32_t> known;
  std::vector<std::vector<std::uint32_t>> rows_of;
  for (const GraphTensors& graph : graphs) {
    table.width = graph.node_width;
    const auto width = std::size_t(graph.node_width);
    std::vector<std::uint32_t>& rows = rows_of.emplace_back();
    for (std::size_t i = 0; i < std::size_t(graph.nodes); ++i) {
      const float* row = graph.node_features.data() + i * width;
      std::string key(reinterpret_cast<const char*>(row), width * sizeof(float));
      const auto [found, is_new] = known.try_emplace(std::move(key), std::uint32_t(known.size()));
      rows.push_back(found->second);
      for (std::size_t k = 0; is_new && k < width; ++k) {
        if (row[k] == 0) continue;
        table.columns.push_back(std::uint8_t(k));
        table.values.push_back(row[k]);
      }
      if (is_new) table.starts.push_back(std::uint32_t(table.values.size()));
    }
  }
  writer.number(table.width);
  writer.list(table.starts);
  writer.list(table.columns);
  writer.list(table.values);
  writer.number(std::uint64_t(graphs.size()));
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    writer.list(rows_of[g]);
    writer.list(graphs[g].sources.offsets);
    writer.list(graphs[g].sources.columns);
    writer.list(graphs[g].globals);
  }
}

bool is_whole(const GraphTensors& graph) {
  const SparseRows& rows = graph.sources;
  if (rows.offsets.size() != std::size_t(graph.nodes) + 1 || rows.offsets.front() != 0) return false;
  for (std::size_t i = 1; i < rows.offsets.size(); ++i) {
    if (rows.offsets[i] < rows.offsets[i - 1]) return false;
  }
  if (std::size_t(rows.offsets.back()) != rows.columns.size()) return false;
  for (const std::int32_t column : rows.columns) {
    if (column < 0 || column >= graph.nodes) return false;
  }
  return true;
}

void read_graphs(Reader& reader, std::vector<GraphTensors>& graphs) {
  RowTable table;
  reader.number(table.width);
  reader.list(table.starts);
  reader.list(table.columns);
  reader.list(table.values);
  if (table.width < 0 || table.width > 255 || table.starts.empty() || table.starts.back() != table.values.size() ||
      table.columns.size() != table.values.size())
    return reader.fail();
  reader.each(graphs, [&](GraphTensors& graph) {
    std::vector<std::uint32_t> rows;
    reader.list(rows);
    reader.list(graph.sources.offsets);
    reader.list(graph.sources.columns);
    reader.list(graph.globals);
    graph.nodes = std::int32_t(rows.size());
    graph.node_width = table.width;
    if (!is_whole(graph)) return reader.fail();
    graph.node_features.assign(rows.size() * std::size_t(table.width), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] + std::size_t{1} >= table.starts.size()) return reader.fail();
      for (std::uint32_t k = table.starts[rows[i]]; k < table.starts[rows[i] + 1] && k < table.values.size(); ++k) {
        if (table.columns[k] < table.width)
          graph.node_features[i * std::size_t(table.width) + table.columns[k]] = table.values[k];
      }
    }
  });
}

template <typename Stream, typename Set, typename Graphs>
void visit_set(Stream& stream, Set& set, Graphs visit_graphs) {
  stream.each(set.outputs, [&](auto& name) { stream.text(name); });
  stream.each(set.splits, [&](auto& name) { stream.text(name); });
  visit_graphs(stream, set.graphs);
  stream.each(set.items, [&](auto& item) {
    stream.text(item.name);
    stream.text(item.family);
    stream.list(item.targets);
    stream.list(item.parts);
  });
}

template <typename Stream, typename Run>
void visit_run(Stream& stream, Run& run) {
  stream.text(run.name);
  stream.number(run.epochs);
  stream.number(run.members);
  stream.number(run.outputs);
  stream.number(run.seconds);
  stream.number(run.parameters);
  stream.list(run.loss);
  stream.list(run.answers);
  stream.each(run.tensor_names, [&](auto& name) { stream.text(name); });
  stream.each(run.tensors, [&](auto& values) { stream.list(values); });
}

bool fits(const PublishedSet& set) {
  if (set.graphs.size() != set.items.size()) return false;
  for (const PublishedItem& item : set.items) {
    if (item.targets.size() != set.outputs.size() || item.parts.size() != set.splits.size()) return false;
  }
  return true;
}

}  // namespace

std::string pack_published(const PublishedData& data) {
  Writer writer;
  writer.number(kMagic);
  visit_set(writer, data.inference, write_graphs);
  visit_set(writer, data.training, write_graphs);
  write_graphs(writer, data.unlabelled);
  return writer.take();
}

Result<PublishedData> unpack_published(std::string_view bytes) {
  Reader reader(bytes);
  std::uint64_t magic = 0;
  reader.number(magic);
  if (magic != kMagic) return bad_input("not a file of forerun-lab gnn published-data");
  PublishedData data;
  visit_set(reader, data.inference, read_graphs);
  visit_set(reader, data.training, read_graphs);
  read_graphs(reader, data.unlabelled);
  if (!reader.whole() || !fits(data.inference) || !fits(data.training))
    return bad_input("the file of forerun-lab gnn published-data is cut short or damaged; write it again");
  return data;
}

std::string pack_runs(const std::vector<PublishedRun>& runs) {
  Writer writer;
  writer.number(kMagic);
  writer.each(runs, [&](const PublishedRun& run) { visit_run(writer, run); });
  return writer.take();
}

Result<std::vector<PublishedRun>> unpack_runs(std::string_view bytes) {
  Reader reader(bytes);
  std::uint64_t magic = 0;
  reader.number(magic);
  std::vector<PublishedRun> runs;
  reader.each(runs, [&](PublishedRun& run) { visit_run(reader, run); });
  if (magic != kMagic || !reader.whole()) return bad_input("not a whole file of trained published designs");
  return runs;
}

}  // namespace forerun
