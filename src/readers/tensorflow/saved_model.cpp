#include "readers/tensorflow/saved_model.hpp"

#include <algorithm>

#include "readers/protobuf.hpp"
#include "readers/tensorflow/graph_def.hpp"

namespace forerun::tensorflow {
namespace {

using protobuf::bytes;
using protobuf::Message;
using protobuf::varint;

struct Signature {
  std::string key;
  Endpoints endpoints;
};

struct MetaGraph {
  std::string_view graph;
  bool has_graph = false;
  std::vector<std::string_view> tags;
  std::string_view version;
  std::vector<std::string_view> signatures;  // map entries
};

MetaGraph split_meta_graph(std::string_view view) {
  MetaGraph meta;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): {
        Message info(message.get_view());
        while (info.next()) {
          switch (info.tag_and_type()) {
            case bytes(4): meta.tags.push_back(info.get_view()); break;
            case bytes(5): meta.version = info.get_view(); break;
            default: info.skip();
          }
        }
        break;
      }
      case bytes(2):
        meta.graph = message.get_view();
        meta.has_graph = true;
        break;
      case bytes(5): meta.signatures.push_back(message.get_view()); break;
      default: message.skip();
    }
  }
  return meta;
}

// Key and value of a map entry.
std::pair<std::string_view, std::string_view> split_entry(std::string_view view) {
  std::pair<std::string_view, std::string_view> entry;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): entry.first = message.get_view(); break;
      case bytes(2): entry.second = message.get_view(); break;
      default: message.skip();
    }
  }
  return entry;
}

ArgumentDef split_tensor_info(std::string_view view) {
  ArgumentDef argument;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): argument.name = printable(message.get_view()); break;
      case varint(2): argument.type = read_dtype(message.get_int64()); break;
      case bytes(3): argument.shape = split_shape(message.get_view()).value_or(StatedShape{}); break;
      default: message.skip();
    }
  }
  return argument;
}

Result<Signature> split_signature(std::string_view view, Budget& budget) {
  const auto [key, value] = split_entry(view);
  FORERUN_CHECK(Budget::check_name(key));
  Signature signature{.key = printable(key), .endpoints = {}};
  Message message(value);
  while (message.next()) {
    const std::uint32_t field = message.tag_and_type();
    if (field != bytes(1) && field != bytes(2)) {
      message.skip();
      continue;
    }
    const auto [name, info] = split_entry(message.get_view());
    FORERUN_CHECK(Budget::check_name(name));
    FORERUN_CHECK(budget.charge(sizeof(ArgumentDef)));
    ArgumentDef argument = split_tensor_info(info);
    FORERUN_CHECK(Budget::check_name(argument.name));
    if (argument.name.empty()) continue;  // sparse or composite
    if (field == bytes(1)) {
      signature.endpoints.inputs.push_back(std::move(argument));
    } else {
      signature.endpoints.outputs.emplace_back(printable(name), std::move(argument.name));
    }
  }
  std::sort(signature.endpoints.inputs.begin(), signature.endpoints.inputs.end(),
            [](const ArgumentDef& a, const ArgumentDef& b) { return a.name < b.name; });
  std::sort(signature.endpoints.outputs.begin(), signature.endpoints.outputs.end());
  return signature;
}

// serving_default, or the first by name; the others are named in a warning.
Result<Signature> choose_signature(const MetaGraph& meta, std::vector<std::string>& warnings, Budget& budget) {
  std::vector<Signature> all;
  for (const std::string_view view : meta.signatures) {
    FORERUN_TRY(Signature signature, split_signature(view, budget));
    const bool is_set_up = signature.key == "__saved_model_init_op" || signature.key == "__saved_model_train_op";
    if (!is_set_up && !signature.endpoints.outputs.empty()) all.push_back(std::move(signature));
  }
  if (all.empty()) {
    return bad_input(
        "the SavedModel has no signature with a result; save it with signatures= naming the function to serve");
  }
  std::sort(all.begin(), all.end(), [](const Signature& a, const Signature& b) { return a.key < b.key; });
  auto chosen = std::find_if(all.begin(), all.end(), [](const Signature& one) { return one.key == "serving_default"; });
  if (chosen == all.end()) chosen = all.begin();
  constexpr std::size_t kMostNamed = 8;
  std::string others;
  std::size_t count = 0;
  for (const Signature& one : all) {
    if (&one == &*chosen) continue;
    if (++count <= kMostNamed) others += (others.empty() ? "" : ", ") + one.key.substr(0, 80);
  }
  if (count > kMostNamed) others += ", …";
  if (count > 0)
    warnings.push_back("signature " + in_quotes(chosen->key) + " is read; the SavedModel has others: " + others);
  return *std::move(chosen);
}

}  // namespace

bool looks_like_saved_model(std::string_view file) {
  bool has_meta_graph = false;
  Message message(file);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(1): message.skip(); break;
      case bytes(2): has_meta_graph = has_meta_graph || split_meta_graph(message.get_view()).has_graph; break;
      default: return false;
    }
  }
  return has_meta_graph;
}

bool looks_like_graph_def(std::string_view file) {
  bool has_node = false;
  Message message(file);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1):
        if (!has_node) {
          Message node(message.get_view());
          bool name = false, op = false;
          while (node.next()) {
            switch (node.tag_and_type()) {
              case bytes(1): name = true; break;
              case bytes(2): op = true; break;
              case bytes(3):
              case bytes(4):
              case bytes(5):
              case bytes(6):
              case bytes(7): break;
              default: return false;
            }
            node.skip();
          }
          if (!name || !op) return false;
          has_node = true;
          continue;
        }
        break;
      case bytes(2):
      case varint(3):
      case bytes(4):
      case bytes(5): break;
      default: return false;
    }
    message.skip();
  }
  return has_node;
}

Result<Program> read_saved_model_program(std::string_view file, Budget& budget) {
  std::optional<MetaGraph> meta;
  std::size_t others = 0;
  Message message(file);
  while (message.next()) {
    if (message.tag_and_type() != bytes(2)) {
      message.skip();
      continue;
    }
    MetaGraph one = split_meta_graph(message.get_view());
    const bool serves = std::find(one.tags.begin(), one.tags.end(), "serve") != one.tags.end();
    if (meta) ++others;
    if (!meta || serves) meta = std::move(one);
  }
  if (!meta || !meta->has_graph) return bad_input("not a valid SavedModel: it has no graph");
  std::vector<std::string> warnings;
  if (others > 0)
    warnings.push_back("the SavedModel has " + std::to_string(others + 1) + " graphs; the one tagged 'serve' is read");
  FORERUN_TRY(const Signature signature, choose_signature(*meta, warnings, budget));
  FORERUN_TRY(GraphDef graph, split_graph_def(meta->graph, budget));
  FORERUN_TRY(Program program, build_program(std::move(graph), signature.endpoints, budget));
  program.format = "saved_model";
  program.exporter = "TensorFlow " + printable(meta->version.substr(0, 80));
  program.warnings = std::move(warnings);
  return program;
}

Result<Program> read_graph_def_program(std::string_view file, Budget& budget) {
  FORERUN_TRY(GraphDef graph, split_graph_def(file, budget));
  FORERUN_TRY(Program program, build_program(std::move(graph), Endpoints{}, budget));
  program.format = "graph_def";
  return program;
}

}  // namespace forerun::tensorflow
