#include "readers/torch/script_archive.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/checked.hpp"
#include "readers/printable.hpp"

namespace forerun::pytorch {
namespace {

constexpr std::uint64_t kMaxCodeBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMaxPickleBytes = std::uint64_t{64} << 20;
constexpr std::int64_t kMaxReadConstant = 64;  // elements of a constant whose contents may decide shapes

// "net/data.pkl" -> "net/"; nullptr when there is none.
const ZipEntry* find_entry(const ZipArchive& archive, std::string_view name) {
  for (const ZipEntry& entry : archive.entries()) {
    const std::size_t slash = entry.name.find('/');
    if (entry.name == name || (slash != std::string::npos && entry.name.substr(slash + 1) == name)) return &entry;
  }
  return nullptr;
}

class ArchiveReader {
 public:
  ArchiveReader(ZipArchive& archive, const std::string& what, ScriptProgram& program)
      : archive_(archive), what_(what), program_(program) {}

  Status read() {
    const ZipEntry* data = find_entry(archive_, "data.pkl");
    if (data == nullptr) return bad_input(what_ + ": a TorchScript archive without data.pkl");
    root_ = data->name.substr(0, data->name.size() - std::string_view("data.pkl").size());
    FORERUN_CHECK(read_code());
    FORERUN_TRY(program_.root, read_tensors(*data, "data/"));
    if (const ZipEntry* constants = archive_.find(root_ + "constants.pkl")) {
      FORERUN_TRY(const Argument list, read_tensors(*constants, "constants/"));
      if (const List* items = list.as<List>()) program_.constants = **items;
      name_constants();
    }
    name_tensors(program_.root, "", nullptr, 0);
    return ok();
  }

 private:
  Status read_code() {
    std::uint64_t total = 0;
    const std::string folder = root_ + "code/";
    for (const ZipEntry& entry : archive_.entries()) {
      if (!entry.name.starts_with(folder) || !entry.name.ends_with(".py")) continue;
      total = total + std::min(entry.size, kMaxCodeBytes);
      if (total > kMaxCodeBytes) return Error{ErrorKind::TooLarge, what_ + ": more code than a network has"};
      FORERUN_TRY(const ZipContent content, archive_.content(entry));
      std::string space = entry.name.substr(folder.size(), entry.name.size() - folder.size() - 3);
      std::replace(space.begin(), space.end(), '/', '.');
      FORERUN_CHECK(parse_script(content.bytes(), space, what_ + ": " + printable(entry.name), program_.code));
    }
    return ok();
  }

  // The pickle's value; its tensors are added to the program's, and Stored means their place there.
  Result<Argument> read_tensors(const ZipEntry& entry, const std::string& folder) {
    if (entry.size > kMaxPickleBytes) return Error{ErrorKind::TooLarge, what_ + ": " + entry.name + " is too large"};
    FORERUN_TRY(const ZipContent content, archive_.content(entry));
    FORERUN_TRY(Pickle pickle, read_pickle(content.bytes(), what_ + ": " + entry.name));
    const std::size_t first = program_.tensors.size();
    for (const StoredTensor& stored : pickle.tensors) {
      ScriptTensor tensor;
      tensor.type = stored.type;
      tensor.dims = stored.dims;
      tensor.key = folder + stored.storage + "+" + std::to_string(stored.offset);
      for (const std::int64_t dim : stored.dims) tensor.key += "," + std::to_string(dim);
      if (folder == "constants/") tensor.literal = contents(root_ + folder + stored.storage, stored);
      program_.tensors.push_back(std::move(tensor));
    }
    std::unordered_set<const void*> seen;
    shift(pickle.root, std::int32_t(first), seen);
    return std::move(pickle.root);
  }

  static void shift(Argument& value, std::int32_t by, std::unordered_set<const void*>& seen) {
    if (const auto* stored = value.as<Stored>()) {
      value = {Stored{stored->index + by}};
    } else if (const List* list = value.as<List>()) {
      if (!seen.insert(list->get()).second) return;
      for (Argument& item : **list) shift(item, by, seen);
    } else if (const Object* object = value.as<Object>()) {
      if (!seen.insert(object->get()).second) return;
      for (auto& [name, item] : (*object)->attributes) shift(item, by, seen);
      for (auto& [key, item] : (*object)->entries) shift(item, by, seen);
    }
  }

  // Numbers of a small constant: sizes and positions that the code computes with.
  std::optional<Literal> contents(const std::string& path, const StoredTensor& stored) {
    const std::int64_t count = checked_product(stored.dims);
    const ZipEntry* entry = archive_.find(path);
    if (entry == nullptr || count > kMaxReadConstant || stored.offset != 0) return std::nullopt;
    const auto bytes = archive_.stored(*entry);
    const int bits = bits_of(stored.type);
    if (!bytes || bits < 8 || std::int64_t(bytes->size()) < count * bits / 8) return std::nullopt;
    Literal literal;
    for (std::int64_t i = 0; i < count; ++i) {
      const char* at = bytes->data() + i * bits / 8;
      std::int64_t whole = 0;
      float single = 0;
      double real = 0;
      switch (stored.type) {
        case DType::Int64: std::memcpy(&whole, at, 8); break;
        case DType::Int32: {
          std::int32_t small = 0;
          std::memcpy(&small, at, 4);
          whole = small;
          break;
        }
        case DType::Bool: whole = *at != 0 ? 1 : 0; break;
        case DType::Float32: std::memcpy(&single, at, 4); break;
        case DType::Float64: std::memcpy(&real, at, 8); break;
        default: return std::nullopt;
      }
      if (is_floating(stored.type)) {
        literal.reals.push_back(stored.type == DType::Float32 ? double(single) : real);
      } else {
        literal.ints.push_back(whole);
      }
    }
    return literal;
  }

  // Constants of a frozen network are its weights.
  void name_constants() {
    for (std::size_t i = 0; i < program_.constants.size(); ++i) {
      const auto* stored = program_.constants[i].as<Stored>();
      if (stored == nullptr) continue;
      ScriptTensor& tensor = program_.tensors[std::size_t(stored->index)];
      tensor.name = "constant " + std::to_string(i);
      tensor.is_parameter = checked_product(tensor.dims) > 1;
      if (tensor.is_parameter && is_floating(tensor.type)) tensor.literal.reset();
    }
  }

  // Names and roles of tensors by the attributes they are; modules learn their path.
  void name_tensors(const Argument& value, const std::string& path, const ScriptClass* owner, int depth) {
    if (depth > 200) return;
    if (const auto* stored = value.as<Stored>()) {
      ScriptTensor& tensor = program_.tensors[std::size_t(stored->index)];
      const std::string own = path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
      const bool is_parameter = owner != nullptr && std::find(owner->parameters.begin(), owner->parameters.end(),
                                                              own) != owner->parameters.end();
      auto [known, is_new] = parameters_.try_emplace(tensor.key, is_parameter ? path : "");
      if (is_parameter && known->second.empty()) known->second = path;
      tensor.name = path;
      std::replace(tensor.name.begin(), tensor.name.end(), '/', '.');
    } else if (const List* list = value.as<List>()) {
      if (!seen_.insert(list->get()).second) return;
      for (const Argument& item : **list) name_tensors(item, path, nullptr, depth + 1);
    } else if (const Object* object = value.as<Object>()) {
      if (!seen_.insert(object->get()).second) return;
      (*object)->path = path;
      const auto found = program_.code.classes.find((*object)->name);
      const ScriptClass* own = found == program_.code.classes.end() ? nullptr : &found->second;
      for (const auto& [name, item] : (*object)->attributes)
        name_tensors(item, path.empty() ? printable(name) : path + "/" + printable(name), own, depth + 1);
      for (const auto& [key, item] : (*object)->entries) name_tensors(item, path, nullptr, depth + 1);
    }
    if (depth > 0) return;
    for (ScriptTensor& tensor : program_.tensors) {
      const auto known = parameters_.find(tensor.key);
      if (known == parameters_.end() || known->second.empty()) continue;
      tensor.is_parameter = true;
      tensor.name = known->second;
      std::replace(tensor.name.begin(), tensor.name.end(), '/', '.');
    }
  }

  ZipArchive& archive_;
  const std::string& what_;
  ScriptProgram& program_;
  std::string root_;
  std::unordered_map<std::string, std::string> parameters_;  // by key, their path; empty for what is none
  std::unordered_set<const void*> seen_;
};

}  // namespace

Result<ScriptProgram> read_script_program(ZipArchive& archive, const std::string& what) {
  ScriptProgram program;
  FORERUN_CHECK(ArchiveReader(archive, what, program).read());
  return program;
}

}  // namespace forerun::pytorch
