#include "readers/torch/torch_reader.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/zip.hpp"
#include "readers/printable.hpp"
#include "readers/torch/exported_network.hpp"
#include "readers/torch/pickle.hpp"
#include "readers/torch/script_network.hpp"

namespace forerun {
namespace {

constexpr std::string_view kOldProgram = "serialized_exported_program.json";
// The magic number of torch.save before version 1.6, as its pickle begins.
constexpr std::string_view kOldPickle("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);

std::string_view last_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "net/models/model.json", "models/model.json": the folder of an archive's programs.
bool is_program(const ZipArchive& archive, std::string_view path) {
  const std::size_t models = path.rfind("models/");
  return models != std::string_view::npos && archive.find(std::string(path.substr(0, models)) + "archive_format") &&
         path.ends_with(".json") && (models == 0 || path[models - 1] == '/') &&
         path.find('/', models + 7) == std::string_view::npos;
}

// Programs of the archive, by their entries.
std::vector<const ZipEntry*> programs_of(const ZipArchive& archive) {
  std::vector<const ZipEntry*> programs;
  for (const ZipEntry& entry : archive.entries()) {
    if (entry.name == kOldProgram || is_program(archive, entry.name)) programs.push_back(&entry);
  }
  return programs;
}

bool has_part(const ZipArchive& archive, std::string_view part) {
  return std::any_of(archive.entries().begin(), archive.entries().end(),
                     [&](const ZipEntry& entry) { return entry.name.find(part) != std::string::npos; });
}

bool is_compiled_package(const ZipArchive& archive) { return has_part(archive, "data/aotinductor/"); }

Result<const ZipEntry*> choose_program(const ZipArchive& archive, const std::string& what) {
  const auto programs = programs_of(archive);
  if (programs.empty()) {
    return bad_input(what + ": a package compiled by AOTInductor holds machine code and no graph; save the exported " +
                     "program with torch.export.save(torch.export.export(module, inputs), \"network.pt2\")");
  }
  if (programs.size() == 1) return programs.front();
  for (const ZipEntry* entry : programs) {
    if (last_part(entry->name) == "model.json") return entry;
  }
  return bad_input(what + ": holds " + std::to_string(programs.size()) +
                   " programs and none is called 'model'; save one a file");
}

// Up to version 2.8 a nested archive pickles the weights: those that share their storage are one.
Result<pytorch::TiedWeights> tied_weights(ZipArchive& archive, const std::string& what) {
  pytorch::TiedWeights tied;
  const ZipEntry* entry = archive.find("serialized_state_dict.pt");
  if (entry == nullptr) return tied;
  std::optional<ZipContent> inflated;
  std::string_view bytes;
  if (entry->method == 0) {
    FORERUN_TRY(bytes, archive.stored(*entry));  // its weights are not read
  } else {
    FORERUN_TRY(inflated, archive.content(*entry));
    bytes = inflated->bytes();
  }
  FORERUN_TRY(ZipArchive nested, ZipArchive::open(bytes, what + ": " + entry->name));
  for (const ZipEntry& inner : nested.entries()) {
    if (last_part(inner.name) != "data.pkl") continue;
    FORERUN_TRY(const ZipContent content, nested.content(inner));
    FORERUN_TRY(const pytorch::Pickle pickle, pytorch::read_pickle(content.bytes(), what + ": " + entry->name));
    const auto* names = pickle.root.as<pytorch::Object>();
    if (names == nullptr) return tied;
    std::map<std::tuple<std::string, std::int64_t, Dims>, std::string> first;
    for (const auto& [name, value] : (*names)->entries) {
      const auto* text = name.as<std::string>();
      const auto* stored = value.as<pytorch::Stored>();
      if (text == nullptr || stored == nullptr) continue;
      const pytorch::StoredTensor& tensor = pickle.tensors[std::size_t(stored->index)];
      const auto place = std::tuple(tensor.storage, tensor.offset, tensor.dims);
      tied[printable(*text)] = first.try_emplace(place, printable(*text)).first->second;
    }
  }
  return tied;
}

}  // namespace

bool is_exported_program(const Source& source) {
  if (source.is_folder || !is_zip(source.bytes)) return false;
  const auto archive = ZipArchive::open(source.bytes, "");
  return archive && (!programs_of(*archive).empty() || is_compiled_package(*archive));
}

Result<std::unique_ptr<Network>> read_exported_program_source(const Source& source) {
  const std::string what = source.path.string();
  FORERUN_TRY(ZipArchive archive, ZipArchive::open(source.bytes, what));
  FORERUN_TRY(const ZipEntry* entry, choose_program(archive, what));
  FORERUN_TRY(const ZipContent program, archive.content(*entry));
  ZipContent weights{std::string_view{}};
  if (entry->name != kOldProgram) {
    const std::string_view path = entry->name;
    const std::string model(last_part(path).substr(0, last_part(path).size() - 5));
    const std::string root(path.substr(0, path.rfind("models/")));
    const ZipEntry* table = archive.find(root + "data/weights/" + model + "_weights_config.json");
    if (table != nullptr) {
      FORERUN_TRY(weights, archive.content(*table));
    }
  }
  FORERUN_TRY(pytorch::TiedWeights tied, tied_weights(archive, what));
  FORERUN_TRY(
      pytorch::ExportedProgram read,
      pytorch::read_exported_program(program.bytes(), weights.bytes(), std::move(tied), what + ": " + entry->name));
  return pytorch::make_exported_network(std::move(read), printable(source.path.stem().string()), what);
}

bool is_torch_script(const Source& source) {
  if (source.is_folder || !is_zip(source.bytes)) return false;
  const auto archive = ZipArchive::open(source.bytes, "");
  return archive && std::any_of(archive->entries().begin(), archive->entries().end(), [](const ZipEntry& entry) {
           return entry.name.ends_with(".py") &&
                  (entry.name.starts_with("code/") || entry.name.find("/code/") != std::string::npos);
         });
}

Result<std::unique_ptr<Network>> read_torch_script_source(const Source& source) {
  const std::string what = source.path.string();
  FORERUN_TRY(ZipArchive archive, ZipArchive::open(source.bytes, what));
  return pytorch::read_script_archive(archive, printable(source.path.stem().string()), what);
}

bool is_torch_pickle(const Source& source) {
  if (source.is_folder) return false;
  if (source.bytes.starts_with(kOldPickle)) return true;
  if (!is_zip(source.bytes)) return false;
  const auto archive = ZipArchive::open(source.bytes, "");
  return archive && std::any_of(archive->entries().begin(), archive->entries().end(),
                                [](const ZipEntry& entry) { return last_part(entry.name) == "data.pkl"; });
}

Result<std::unique_ptr<Network>> read_torch_pickle_source(const Source& source) {
  return bad_input(source.path.string() +
                   ": holds weights or a pickled module, and no graph to run; in Python, save the network with "
                   "torch.export.save(torch.export.export(module, inputs), \"network.pt2\") or torch.jit.save");
}

}  // namespace forerun
