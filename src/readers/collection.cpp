#include "readers/collection.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMostNamed = 8;
constexpr std::size_t kMostTexts = 200;  // JSON files that are looked into
constexpr std::uint64_t kMostTextBytes = std::uint64_t{64} << 20;

constexpr std::uint64_t kUploadUnpackedBytes = std::uint64_t{2} << 30;  // of a file that stands alone

// How likely a file is the network: a better rank hides the worse ones.
enum Rank { kGraph, kWeights, kOther, kNone };

struct Extension {
  std::string_view end;
  Rank rank;
};
constexpr std::array kExtensions = {
    Extension{".onnx", kGraph},         Extension{".tflite", kGraph},
    Extension{".pt2", kGraph},          Extension{".pt", kGraph},
    Extension{".jit", kGraph},          Extension{".keras", kGraph},
    Extension{".weights.h5", kWeights}, Extension{".h5", kGraph},
    Extension{".hdf5", kGraph},         Extension{".pb", kGraph},
    Extension{".pdmodel", kGraph},      Extension{"__model__", kGraph},
    Extension{".gguf", kGraph},         Extension{".safetensors", kWeights},
    Extension{".pth", kWeights},        Extension{".ckpt", kWeights},
    Extension{".pdiparams", kWeights},  Extension{".pdparams", kWeights},
    Extension{".bin", kWeights},        Extension{".ort", kOther},
    Extension{".pte", kOther},          Extension{".xml", kOther},
    Extension{".param", kOther},        Extension{".prototxt", kOther},
    Extension{".caffemodel", kOther},   Extension{".cfg", kOther},
    Extension{".mlmodel", kOther},      Extension{".engine", kOther},
    Extension{".plan", kOther},         Extension{".mnn", kOther},
    Extension{".mindir", kOther},       Extension{".msgpack", kOther},
    Extension{".zip", kOther},          Extension{".tar", kOther},
    Extension{".tgz", kOther},          Extension{".gz", kOther},
    Extension{".pkl", kOther},          Extension{".npz", kOther},
};

// Files by which a folder is recognised; everything below it belongs to it.
constexpr std::array<std::string_view, 4> kFolderFiles = {"model_index.json", "saved_model.pb", "config.json",
                                                          "adapter_config.json"};

struct Candidate {
  std::string name;  // "" = the folder itself
  bool is_folder = false;
  Rank rank = kGraph;
};

std::string parent_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return std::string(name.substr(0, slash == std::string_view::npos ? 0 : slash));
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('/') + 1); }

bool is_below(std::string_view name, const std::set<std::string>& folders) {
  for (std::string parent = parent_of(name);; parent = parent_of(parent)) {
    if (folders.contains(parent)) return true;
    if (parent.empty()) return false;
  }
}

Rank rank_of(std::string_view name) {
  for (const Extension& row : kExtensions) {
    if (name.ends_with(row.end)) return row.rank;
  }
  return kNone;
}

std::set<std::string> network_folders(const std::vector<FolderFile>& files) {
  std::set<std::string> found;
  for (const FolderFile& file : files) {
    if (std::find(kFolderFiles.begin(), kFolderFiles.end(), last_part(file.name)) != kFolderFiles.end())
      found.insert(parent_of(file.name));
  }
  std::set<std::string> outermost;
  for (const std::string& folder : found) {
    if (folder.empty() || !is_below(folder, found)) outermost.insert(folder);
  }
  return outermost;
}

// PaddlePaddle writes NAME.json and NAME.pdmodel for the same network: the first stands for both.
bool is_twin(const std::vector<Candidate>& candidates, std::string_view name) {
  if (!name.ends_with(".pdmodel")) return false;
  const std::string other = std::string(name.substr(0, name.size() - 8)) + ".json";
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& one) { return one.name == other; });
}

Result<std::vector<Candidate>> find_candidates(const Folder& folder, bool (*is_network_text)(const Source&)) {
  FORERUN_TRY(const std::vector<FolderFile> files, folder.list());
  const std::set<std::string> folders = network_folders(files);
  std::vector<Candidate> found;
  for (const std::string& name : folders) found.push_back({name, true, kGraph});
  std::size_t texts = 0;
  for (const FolderFile& file : files) {
    if (is_below(file.name, folders)) continue;
    Rank rank = rank_of(file.name);
    if (rank == kNone && file.name.ends_with(".json") && file.size <= kMostTextBytes && texts++ < kMostTexts) {
      FORERUN_TRY(const FileBytes text, folder.open(file.name));
      const Source source{folder.path_of(file.name), false, folder.below(parent_of(file.name)), text.view()};
      if (is_network_text(source)) rank = kGraph;
    }
    if (rank != kNone && !is_twin(found, file.name)) found.push_back({file.name, false, rank});
  }
  Rank best = kNone;
  for (const Candidate& one : found) best = std::min(best, one.rank);
  std::erase_if(found, [&](const Candidate& one) { return one.rank != best; });
  return found;
}

Error several(const Source& source, const std::vector<Candidate>& candidates) {
  std::string names;
  for (std::size_t i = 0; i < std::min(candidates.size(), kMostNamed); ++i)
    names += (i == 0 ? "" : ", ") + in_quotes(candidates[i].name);
  if (candidates.size() > kMostNamed) names += ", …";
  return bad_input(source.path.string() + ": holds " + std::to_string(candidates.size()) + " networks (" + names +
                   "); " + (source.folder.is_in_archive() ? "unpack it and give one of them" : "give one of them"));
}

bool is_text_of_network(const Source& source) { return matches_some_format(source); }

}  // namespace

bool is_collection(const Source& source) {
  if (!source.is_folder) return false;
  const auto found = find_candidates(source.folder, is_text_of_network);
  return !found || !found->empty();
}

Result<std::unique_ptr<Network>> read_collection_source(const Source& source) {
  FORERUN_TRY(const std::vector<Candidate> found, find_candidates(source.folder, is_text_of_network));
  if (found.size() > 1) return several(source, found);
  const Candidate& one = found.front();
  if (one.is_folder && one.name.empty())
    return bad_input(source.path.string() + ": looks like a network's folder, but its files cannot be read");
  Source inner;
  inner.path = source.folder.path_of(one.name);
  inner.is_folder = one.is_folder;
  inner.folder = source.folder.below(one.is_folder ? one.name : parent_of(one.name));
  FileBytes content;
  if (!one.is_folder) {
    FORERUN_TRY(content, source.folder.open(one.name));
    inner.bytes = content.view();
  }
  return read_source(inner);
}

bool is_packed(const Source& source) { return !source.is_folder && is_archive(source.bytes); }

Result<std::unique_ptr<Network>> read_packed_source(const Source& source) {
  const std::string what = source.path.string();
  if (source.folder.is_in_archive())
    return bad_input(what + ": an archive in an archive; unpack the outer one and give this one");
  ArchiveLimits limits;
  if (!source.folder.available()) limits.unpacked_bytes = kUploadUnpackedBytes;
  FORERUN_TRY(auto archive, open_archive(source.bytes, what, limits));
  Source inner;
  inner.path = source.path;
  inner.is_folder = true;
  inner.folder = Folder(std::move(archive), source.path);
  // Folders that hold nothing but one other folder are its wrapping.
  FORERUN_TRY(const std::vector<FolderFile> files, inner.folder.list());
  if (files.empty()) return bad_input(what + ": the archive has no files");
  std::string common = parent_of(files.front().name);
  for (const FolderFile& file : files) {
    while (!common.empty() && !file.name.starts_with(common + "/")) common = parent_of(common);
  }
  if (!common.empty()) {
    inner.folder = inner.folder.below(common);
    inner.path /= common;
  }
  return read_source(inner);
}

}  // namespace forerun
