// forerun-train-published DATA GROUP OUT [cpu|cuda] [SECONDS] [EPOCHS]: trains a group of recipes of the published
// designs. DATA is a file of `forerun-lab gnn published-data`; OUT is read by `forerun-lab gnn published-page`. It
// needs LibTorch alone, for machines with a GPU and none of the readers' libraries.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "training/gnn/published_schedule.hpp"

namespace forerun {
namespace {

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Status write_all(const std::string& path, const std::string& bytes) {
  std::ofstream file(path + ".new", std::ios::binary);
  file << bytes;
  file.close();
  if (!file || std::rename((path + ".new").c_str(), path.c_str()) != 0)
    return Error{ErrorKind::Io, path + ": cannot write"};
  return ok();
}

Status run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3)
    return bad_input("usage: forerun-train-published DATA GROUP OUT [cpu|cuda] [SECONDS] [EPOCHS]");
  const auto number = [&](std::size_t i, double fallback) {
    return arguments.size() > i ? std::strtod(arguments[i].c_str(), nullptr) : fallback;
  };
  FORERUN_TRY(const PublishedData data, unpack_published(read_all(arguments[0])));
  PublishedPlace place;
  if (arguments.size() > 3 && arguments[3] == "cuda") {
    if (!torch::cuda::is_available()) return bad_input("this LibTorch sees no CUDA device");
    place.device = torch::kCUDA;
    at::globalContext().setAllowTF32CuBLAS(true);
  }
  place.say = [](const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
    std::fflush(stderr);
  };
  PublishedScale scale{.epochs = number(5, 1), .seconds = number(4, 0)};
  if (scale.epochs < 1)
    scale = {.width = 16, .shipped_width = 8, .epochs = scale.epochs, .seconds = scale.seconds, .unlabelled = 100};
  return train_published(data, arguments[1], scale, place, [&](const std::vector<PublishedRun>& runs) {
    return write_all(arguments[2], pack_runs(runs));
  });
}

}  // namespace
}  // namespace forerun

int main(int argc, char** argv) {
  const forerun::Status status = forerun::run({argv + 1, argv + argc});
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
