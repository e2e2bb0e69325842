#include "readers/huggingface/huggingface_reader.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "base/checked.hpp"
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/config.hpp"
#include "readers/huggingface/quantization.hpp"
#include "readers/huggingface/shard.hpp"
#include "readers/huggingface/stored_weights.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kMaxBatch = std::int64_t{1} << 22;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 26;
constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Where a wrapper around several networks keeps its language model.
constexpr std::array<std::string_view, 5> kTextFields = {"text_config", "language_config", "llm_config",
                                                         "text_model_config", "llm_model_config"};

class HuggingFaceNetwork final : public Network {
 public:
  Json config;  // of the network itself: a wrapper's text part
  std::string name, format;
  const Architecture* architecture = nullptr;
  Task task = Task::Causal;
  bool has_head = true;
  std::vector<std::string> warnings;
  std::optional<StoredWeights> weights;
  CheckpointQuantization quantization;

  [[nodiscard]] bool is_fixed_graph() const override { return false; }

  [[nodiscard]] std::optional<Precision> own_precision() const override {
    if (weights && weights->precision) return weights->precision;
    std::string ignored;
    const std::string type = Config(config, ignored).text({"torch_dtype", "dtype"}, "");
    if (ends_with(type, "bfloat16")) return Precision::Bf16;  // or "torch.bfloat16"
    if (ends_with(type, "float16")) return Precision::Fp16;
    if (ends_with(type, "float32")) return Precision::Fp32;
    return std::nullopt;
  }

  [[nodiscard]] Result<Graph> expand(const Binding& binding, const CancelToken& cancel) const override {
    std::vector<std::string> notes = warnings;
    FORERUN_TRY(RunShape run, shape_of(binding, notes));
    std::string error;
    const Config fields(config, error);
    GraphBuilder b(
        run, 256 + 40 * std::size_t(fields.layers({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, 32)));
    b.graph.name = name;
    b.graph.format = format;
    b.graph.origin.framework = Framework::PyTorch;
    b.graph.origin.exporter = std::string(architecture->model_type);
    b.graph.origin.form = GraphForm::WrittenOut;
    b.graph.origin.task = NetworkTask::Language;
    b.graph.warnings = std::move(notes);
    architecture->build(fields, b);
    if (!error.empty()) return bad_input(name + ": " + error);
    FORERUN_CHECK(cancel.check());
    finish_shard(b);
    if (!b.refusal.empty()) return bad_input(b.refusal);
    if (quantization.is_present) store_as_quantized(b.graph, quantization, run);
    if (weights) use_stored_weights(b.graph, *weights);
    note_positions(b.graph, run);
    b.graph.written_run = WrittenRun{.batch = run.batch,
                                     .sequence = run.phase == Phase::Decode ? run.past
                                                 : task == Task::Seq2Seq    ? run.encoder_tokens
                                                                            : run.tokens * run.shard.context,
                                     .phase = run.phase};
    for (const Value& value : b.graph.values) {
      if (elements_of(value) >= kSizeLimit)
        return bad_input(name + ": a tensor of this configuration is too large to count");
    }
    FORERUN_CHECK(verify(b.graph));
    return std::move(b.graph);
  }

 private:
  Result<RunShape> shape_of(const Binding& binding, std::vector<std::string>& notes) const {
    RunShape run;
    run.task = task;
    run.phase = binding.phase.value_or(task == Task::Causal ? Phase::Prefill : Phase::Forward);
    if (task == Task::Encoder && run.phase != Phase::Forward) {
      return bad_input(name + ": an encoder has no " + std::string(name_of(run.phase)) + " phase; ask for forward");
    }
    if (!binding.batch) notes.emplace_back("batch not given: 1");
    run.batch = binding.batch.value_or(1);
    const std::int64_t default_seq = task == Task::Causal ? 512 : 128;
    if (!binding.seq) notes.push_back("sequence length not given: " + std::to_string(default_seq));
    const std::int64_t seq = binding.seq.value_or(default_seq);
    if (run.batch < 1 || run.batch > kMaxBatch) return bad_input("batch must lie in 1 … " + std::to_string(kMaxBatch));
    if (seq < (run.phase == Phase::Decode ? 0 : 1) || seq > kMaxTokens) {
      return bad_input("sequence length must lie in 1 … " + std::to_string(kMaxTokens));
    }
    run.tokens = run.phase == Phase::Decode ? 1 : seq;
    run.past = run.phase == Phase::Decode ? seq : 0;
    run.keeps_cache = task != Task::Encoder && run.phase != Phase::Forward;
    if (task == Task::Seq2Seq) {
      // The campaign's convention: a decoder input a quarter of the encoder's, at least 8 tokens.
      run.encoder_tokens = seq;
      if (run.phase == Phase::Forward) run.tokens = std::max<std::int64_t>(8, seq / 4);
      if (run.phase == Phase::Prefill) run.tokens = 1;
      if (run.phase == Phase::Decode)
        notes.emplace_back("decode runs the decoder alone: the encoder's weights are not counted");
    }
    run.shard = binding.shard;
    if (run.shard.context > 1) {
      if (run.phase == Phase::Decode) {
        return bad_input("--context-parallel divides the tokens of a prompt; a decode step has one per sequence");
      }
      if (run.tokens % run.shard.context != 0) {
        return bad_input("--context-parallel " + std::to_string(run.shard.context) + ": does not divide the " +
                         std::to_string(run.tokens) + " tokens of a sequence");
      }
      run.tokens /= run.shard.context;
    }
    run.has_head = has_head;
    run.last_logits_only = binding.last_logits_only;
    const PrecisionTypes types = types_of(binding.precision);
    run.weights = types.weights;
    run.activations = types.activations;
    run.linear = run.experts = types.linear;
    std::string ignored;
    const std::string implementation =
        Config(config, ignored).text({"attn_implementation", "_attn_implementation"}, "");
    run.force_eager = implementation == "eager";
    run.force_sdpa = implementation == "sdpa" || implementation.rfind("flash", 0) == 0;
    return run;
  }

  static void note_positions(Graph& graph, const RunShape& run) {
    const std::int64_t positions = graph.transformer ? graph.transformer->max_positions : 0;
    if (positions <= 0 || run.past + run.tokens <= positions) return;
    graph.warnings.push_back("sequence of " + std::to_string(run.past + run.tokens) + " is longer than the " +
                             std::to_string(positions) + " positions of the configuration");
  }
};

Result<const Architecture*> choose_architecture(const Config& fields, const std::string& name,
                                                std::vector<std::string>& warnings) {
  const std::string type = fields.text("model_type", "");
  if (const Architecture* row = find_architecture(type)) return row;
  const bool has_layers =
      fields.has("num_hidden_layers") || fields.has("n_layer") || fields.has("n_layers") || fields.has("num_layers");
  const bool has_width = fields.has("hidden_size") || fields.has("n_embd") || fields.has("d_model");
  if (!has_layers || !has_width) {
    return bad_input(name + ": " +
                     (type.empty() ? "no model_type" : "model_type '" + printable(type) + "' is not known") +
                     " and no hidden_size with num_hidden_layers to go by: not a network's configuration");
  }
  const auto classes = fields.texts("architectures");
  const bool is_encoder = fields.text("forerun_task", "") == "encoder" ||
                          (!classes.empty() && (ends_with(classes[0], "ForMaskedLM") || fields.has("type_vocab_size")));
  warnings.push_back("architecture '" + printable(type.empty() ? "(none)" : type) +
                     "' is not known: read as a generic " +
                     (is_encoder ? "encoder (BERT-like)" : "decoder (Llama-like)"));
  return is_encoder ? &kGenericEncoder : &kGenericDecoder;
}

void choose_task(const Config& fields, HuggingFaceNetwork& network) {
  network.task = network.architecture->task;
  const std::string stated = fields.text("forerun_task", "");
  const auto classes = fields.texts("architectures");
  const std::string first = classes.empty() ? "" : classes[0];
  if (network.task == Task::Seq2Seq) {
    network.has_head = stated.empty() && (first.empty() || !ends_with(first, "Model"));
  } else if (network.task == Task::Causal) {
    if (stated == "encoder" || (ends_with(first, "Model") && !ends_with(first, "LMHeadModel")))
      network.task = Task::Encoder;
    else if (first.find("ForSequenceClassification") != std::string::npos) {
      network.task = Task::Encoder;
      network.warnings.emplace_back("the classification head is left out");
    }
  } else if (first.find("For") != std::string::npos && stated.empty()) {
    network.warnings.push_back("read as the base network: the head of " + printable(first) + " is left out");
  }
}

// A network of several parts: the language model is used, the others are named.
void unwrap(Json& config, std::vector<std::string>& warnings) {
  std::string ignored;
  const std::string type = Config(config, ignored).text("model_type", "");
  if (type == "clip") return;
  for (const std::string_view field : kTextFields) {
    const auto part = config.find(field);
    if (part == config.end() || !part->is_object() || part->empty()) continue;
    Json text = *part;
    for (const std::string_view inherited : {"tie_word_embeddings", "quantization_config", "forerun_task",
                                             "attn_implementation", "torch_dtype", "dtype"}) {
      if (!text.contains(inherited) && config.contains(inherited))
        text[std::string(inherited)] = config[std::string(inherited)];
    }
    if (!text.contains("model_type") && !type.empty()) {
      text["model_type"] = find_architecture(type + "_text") != nullptr ? type + "_text" : type;
    }
    std::string others;
    for (const std::string_view other : {"vision_config", "audio_config", "speech_config"}) {
      if (config.contains(other))
        others += (others.empty() ? "" : " and ") + std::string(other.substr(0, other.size() - 7));
    }
    if (!others.empty())
      warnings.push_back("the language model is used; the " + others + " part of '" + printable(type) +
                         "' is left out");
    config = std::move(text);
    return;
  }
}

}  // namespace

Result<std::unique_ptr<Network>> make_huggingface_network(Json config, std::string name, std::string format,
                                                          std::optional<StoredWeights> weights,
                                                          std::vector<std::string> notes) {
  if (!config.is_object()) return bad_input(name + ": a configuration must be a JSON object");
  auto network = std::make_unique<HuggingFaceNetwork>();
  network->name = std::move(name);
  network->format = std::move(format);
  network->warnings = std::move(notes);
  unwrap(config, network->warnings);
  network->config = std::move(config);
  std::string error;
  const Config fields(network->config, error);
  if (fields.has("producer") && fields.has("quantization") && !fields.has("model_type")) {
    return bad_input(network->name + ": describes a quantisation, not a network: give the config.json beside it");
  }
  FORERUN_TRY(network->architecture, choose_architecture(fields, network->name, network->warnings));
  choose_task(fields, *network);
  if (!weights) {
    std::string unknown;
    network->quantization = read_quantization(fields, unknown);
    if (network->quantization.is_present) {
      network->warnings.push_back("linear weights are stored as the checkpoint has them (" +
                                  printable(network->quantization.method) + ")");
    } else if (!unknown.empty()) {
      network->warnings.push_back("quantisation '" + printable(unknown) + "' is not known: ignored");
    }
  }
  network->weights = std::move(weights);
  if (!error.empty()) return bad_input(network->name + ": " + error);
  return std::unique_ptr<Network>(std::move(network));
}

namespace {

std::string name_of_folder(const Source& source) {
  if (source.folder.is_in_archive()) return source.path.stem().string();
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::weakly_canonical(source.path, ignored);
  return (ignored ? source.path : folder).filename().string();
}

// Adapters (LoRA) in the folder or in folders below it are not part of the network's graph.
void name_adapters(const Folder& folder, std::vector<std::string>& notes) {
  constexpr std::size_t kMostNamed = 5;
  constexpr std::string_view kFile = "adapter_config.json";
  std::string names;
  std::size_t count = 0;
  const auto files = folder.list();
  if (!files) return;
  for (const FolderFile& file : *files) {
    if (!file.name.ends_with(kFile)) continue;
    const std::string parent = std::filesystem::path(file.name).parent_path().generic_string();
    if (++count <= kMostNamed) names += (names.empty() ? "" : ", ") + in_quotes(parent.empty() ? "." : parent);
  }
  if (count > kMostNamed) names += ", …";
  if (count > 0) notes.push_back("adapters are not applied; the folder holds " + names);
}

}  // namespace

bool is_adapter(const Source& source) {
  return source.is_folder && source.folder.has("adapter_config.json") && !source.folder.has("config.json");
}

Result<std::unique_ptr<Network>> read_adapter_source(const Source& source) {
  FORERUN_TRY(const FileBytes file, source.folder.open("adapter_config.json"));
  FORERUN_TRY(const Json config,
              parse_json_text(file.view(), source.folder.path_of("adapter_config.json"), kMaxConfigBytes));
  std::string ignored;
  const std::string base = Config(config, ignored).text("base_model_name_or_path", "");
  return bad_input(source.path.string() +
                   ": an adapter (PEFT) without its network; give the folder of the base network" +
                   (base.empty() ? "" : ", " + in_quotes(base)) + ", or merge the adapter into it and give the result");
}

bool is_huggingface(const Source& source) {
  if (source.is_folder) {
    return source.folder.has("config.json");
  }
  const std::size_t first = source.bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || source.bytes[first] != '{' || source.bytes.size() > kMaxConfigBytes)
    return false;
  for (const std::string_view key :
       {"\"model_type\"", "\"architectures\"", "\"hidden_size\"", "\"num_hidden_layers\"", "\"n_layer\""}) {
    if (source.bytes.find(key) != std::string_view::npos) return true;
  }
  return false;
}

Result<std::unique_ptr<Network>> read_huggingface_source(const Source& source) {
  const std::string path = source.path.string();
  if (source.is_folder) {
    FORERUN_TRY(const FileBytes file, source.folder.open("config.json"));
    FORERUN_TRY(Json config, parse_json_text(file.view(), source.folder.path_of("config.json"), kMaxConfigBytes));
    std::vector<std::string> notes;
    FORERUN_TRY(auto weights, find_stored_weights(source.folder, notes));
    name_adapters(source.folder, notes);
    return make_huggingface_network(std::move(config), name_of_folder(source), "huggingface", std::move(weights),
                                    std::move(notes));
  }
  FORERUN_TRY(Json config, parse_json_text(source.bytes, path, kMaxConfigBytes));
  std::string name = source.path.stem().string();
  if (name == "config" && source.path.has_parent_path()) name = source.path.parent_path().filename().string();
  return make_huggingface_network(std::move(config), std::move(name), "huggingface");
}

}  // namespace forerun
