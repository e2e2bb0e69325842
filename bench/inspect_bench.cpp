// From a file to the JSON of `forerun inspect`, in process and with nothing kept between rounds. The 1 GB file is
// generated: a chain of matrix products whose embedded weights are holes in a sparse file.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "readers/reader.hpp"
#include "service/json.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

const std::string kFixtures = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/";

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return double(resident * ::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void inspect(benchmark::State& state, const std::string& path) {
  const auto service = Service::create();
  if (!service) return state.SkipWithError(service.error().message.c_str());
  Request request;
  request.model = path;
  request.is_transient = true;
  request.binding.batch = 1;
  std::int64_t nodes = 0;
  for (auto _ : state) {
    auto network = read_network(path);
    if (!network) return state.SkipWithError(network.error().message.c_str());
    request.network = std::move(*network);
    const auto report = (*service)->inspect(request);
    if (!report) return state.SkipWithError(report.error().message.c_str());
    std::string text = to_json(*report);
    nodes = report->totals.nodes;
    benchmark::DoNotOptimize(text);
  }
  state.counters["nodes"] = double(nodes);
  state.counters["resident_MB"] = resident_mb();
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>((value & 127) | 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string header(std::uint32_t tag, std::uint64_t size) { return varint((tag << 3) | 2) + varint(size); }
std::string field(std::uint32_t tag, const std::string& content) { return header(tag, content.size()) + content; }

// ModelProto of `layers` products with a 2048 x 2048 weight each, 16 MiB of raw data apiece.
std::string write_large_file(const std::filesystem::path& path, int layers) {
  constexpr std::uint64_t kSide = 2048;
  constexpr std::uint64_t kWeightBytes = kSide * kSide * 4;
  std::string nodes;
  for (int i = 0; i < layers; ++i) {
    const std::string number = std::to_string(i);
    nodes += field(1, field(1, "x" + number) + field(1, "w" + number) + field(2, "x" + std::to_string(i + 1)) +
                          field(4, "MatMul"));
  }
  const std::string dims = field(1, "\x08\x01") + field(1, "\x08" + varint(kSide));
  const std::string type = field(1, "\x08\x01" + field(2, dims));
  nodes += field(11, field(1, "x0") + field(2, type)) + field(12, field(1, "x" + std::to_string(layers)));
  const auto weight = [&](int i) {
    const std::string start = "\x08" + varint(kSide) + "\x08" + varint(kSide) + "\x10\x01" +
                              field(8, "w" + std::to_string(i)) + header(9, kWeightBytes);
    return header(5, start.size() + kWeightBytes) + start;
  };
  std::uint64_t size = nodes.size();
  for (int i = 0; i < layers; ++i) size += weight(i).size() + kWeightBytes;
  std::ofstream file(path, std::ios::binary);
  file << "\x08\x08" << field(8, "\x10\x11") << header(7, size) << nodes;
  for (int i = 0; i < layers; ++i) {
    file << weight(i);
    file.seekp(std::streamoff(kWeightBytes), std::ios::cur);
  }
  const auto end = file.tellp();
  file.close();
  std::filesystem::resize_file(path, std::uintmax_t(end));
  return path.string();
}

}  // namespace
}  // namespace forerun

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("forerun_bench_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string large = forerun::write_large_file(folder / "large.onnx", 64);
  const auto add = [](const char* name, const std::string& path) {
    benchmark::RegisterBenchmark(name, forerun::inspect, path)->Unit(benchmark::kMillisecond);
  };
  add("inspect/resnet50", forerun::kFixtures + "resnet50.onnx");
  add("inspect/bert_base", forerun::kFixtures + "bert_base.onnx");
  add("inspect/mobilenet_v2", forerun::kFixtures + "mobilenet_v2.onnx");
  add("inspect/1_GB_of_weights", large);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  fs::remove_all(folder);
  return 0;
}
