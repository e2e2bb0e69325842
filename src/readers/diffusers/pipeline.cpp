#include "readers/diffusers/pipeline.hpp"

#include <algorithm>
#include <array>

#include "ops/op_table.hpp"
#include "readers/diffusers/merge_graphs.hpp"
#include "readers/diffusers/networks.hpp"
#include "readers/huggingface/config.hpp"
#include "readers/huggingface/quantization.hpp"
#include "readers/printable.hpp"

namespace forerun::diffusers {
namespace {

constexpr std::int64_t kMostBatch = 1 << 16, kMostPixels = 1 << 16, kMostSteps = 100'000;

struct ClassRow {
  std::string_view name;
  Part part;
};
constexpr std::array kClasses = {
    ClassRow{"CLIPTextModel", Part::TextEncoder}, ClassRow{"CLIPTextModelWithProjection", Part::TextEncoder},
    ClassRow{"UNet2DConditionModel", Part::Denoiser}, ClassRow{"AutoencoderKL", Part::Decoder}};

// Steps that pipelines with this scheduler take unless they are told otherwise, and calls of the denoiser beyond them.
struct SchedulerRow {
  std::string_view start;
  std::int64_t steps, more_calls;
};
constexpr std::array kSchedulers = {
    SchedulerRow{"LCMScheduler", 4, 0},   SchedulerRow{"TCDScheduler", 4, 0},
    SchedulerRow{"DPMSolver", 25, 0},     SchedulerRow{"UniPC", 25, 0},
    SchedulerRow{"FlowMatch", 28, 0},     SchedulerRow{"PNDMScheduler", 50, 1},
    SchedulerRow{"DDPMScheduler", 50, 0}, SchedulerRow{"", 50, 0},
};

// Sizes of one pass.
struct Sizes {
  std::int64_t batch = 1, guidance = 2, steps = 50, calls = 50;
  std::int64_t height = 64, width = 64;  // of the latents
  std::int64_t tokens = 77;
};

std::int64_t integer(const Json& config, const char* name, std::int64_t fallback) {
  const auto found = config.find(name);
  return found != config.end() && found->is_number_integer() ? found->get<std::int64_t>() : fallback;
}

RunShape run_of(const Binding& binding, std::int64_t batch, std::int64_t tokens) {
  RunShape run;
  run.task = Task::Encoder;
  run.phase = Phase::Forward;
  run.batch = batch;
  run.tokens = tokens;
  const PrecisionTypes types = types_of(binding.precision);
  run.weights = types.weights;
  run.activations = types.activations;
  run.linear = run.experts = types.linear;
  return run;
}

Result<Graph> build(const Component& component, const Binding& binding, std::int64_t batch, const Sizes& sizes) {
  std::string error;
  const Config config(component.config, error);
  GraphBuilder b(run_of(binding, batch, sizes.tokens));
  if (component.part == Part::TextEncoder) {
    const Scope scope(b, component.name + ".");
    build_text_encoder(config, b, component.class_name == "CLIPTextModelWithProjection");
  } else if (component.part == Part::Denoiser) {
    build_unet(config, b, sizes.height, sizes.width, sizes.tokens);
  } else {
    build_vae_decoder(config, b, sizes.height, sizes.width);
  }
  if (!error.empty()) return bad_input(component.name + " (" + printable(component.class_name) + "): " + error);
  return std::move(b.graph);
}

const Component* find(const Pipeline& pipeline, Part part) {
  const auto found = std::find_if(pipeline.components.begin(), pipeline.components.end(),
                                  [&](const Component& one) { return one.part == part; });
  return found == pipeline.components.end() ? nullptr : &*found;
}

// Pixels along one side of the image for one place of the latents.
std::int64_t shrink_of(const Component* decoder) {
  if (decoder == nullptr) return 8;
  const auto channels = decoder->config.find("block_out_channels");
  const std::size_t blocks = channels != decoder->config.end() && channels->is_array() ? channels->size() : 1;
  return std::int64_t{1} << std::clamp<std::size_t>(blocks == 0 ? 0 : blocks - 1, 0, 15);
}

Result<std::int64_t> side_of(const Binding& binding, const char* name, std::int64_t usual, std::int64_t shrink) {
  const auto found = binding.dims.find(name);
  const std::int64_t pixels = found == binding.dims.end() ? usual : found->second;
  if (pixels < shrink || pixels > kMostPixels || pixels % shrink != 0)
    return bad_input("--dim " + std::string(name) + "=" + std::to_string(pixels) + ": the image's " + name +
                     " is a multiple of " + std::to_string(shrink) + ", at most " + std::to_string(kMostPixels));
  return pixels / shrink;
}

Result<Sizes> sizes_of(const Binding& binding, const Component& denoiser, const Component* decoder) {
  Sizes sizes;
  sizes.batch = binding.batch.value_or(1);
  if (sizes.batch < 1 || sizes.batch > kMostBatch)
    return bad_input("batch must lie in 1 … " + std::to_string(kMostBatch));
  const std::int64_t shrink = shrink_of(decoder);
  const std::int64_t usual = std::clamp<std::int64_t>(integer(denoiser.config, "sample_size", 64), 1, 1 << 12) * shrink;
  FORERUN_TRY(sizes.height, side_of(binding, "height", usual, shrink));
  FORERUN_TRY(sizes.width, side_of(binding, "width", usual, shrink));
  return sizes;
}

// One node in a block, of the shape of its first input unless another is given.
ValueId add_node(Graph& graph, std::int32_t block, OpKind kind, std::vector<ValueId> inputs, Dims dims,
                 std::vector<Attribute> attributes = {}) {
  Value value;
  value.dtype = graph.values[std::size_t(inputs.front())].dtype;
  value.has_shape = true;
  value.dims = std::move(dims);
  const auto id = ValueId(graph.values.size());
  graph.values.push_back(std::move(value));
  Node& node = graph.blocks[std::size_t(block)].nodes.emplace_back();
  node.kind = kind;
  node.op_type = spec_of(kind).name;
  node.inputs = std::move(inputs);
  node.outputs = {id};
  node.attributes = std::move(attributes);
  set_module(graph, node, "scheduler");
  return id;
}

ValueId add_value(Graph& graph, std::string name, DType type, ValueRole role, Dims dims) {
  Value value;
  value.name = std::move(name);
  value.dtype = type;
  value.role = role;
  value.has_shape = true;
  value.dims = std::move(dims);
  graph.values.push_back(std::move(value));
  return ValueId(graph.values.size() - 1);
}

// What the text encoders give to the denoiser.
NamedValues join_text(Graph& graph, const std::vector<NamedValues>& encoded, std::int64_t wanted) {
  NamedValues given;
  std::vector<ValueId> states;
  std::int64_t width = 0;
  for (const NamedValues& one : encoded) {
    if (const auto found = one.find("last_hidden_state"); found != one.end()) {
      states.push_back(found->second);
      width += graph.values[std::size_t(found->second)].dims.back();
    }
    if (const auto found = one.find("text_embeds"); found != one.end()) given["text_embeds"] = found->second;
  }
  if (states.empty() || width != wanted) return given;
  Dims dims = graph.values[std::size_t(states[0])].dims;
  dims.back() = width;
  given["encoder_hidden_states"] =
      states.size() == 1 ? states[0]
                         : add_node(graph, 0, OpKind::Concat, states, std::move(dims), {{"axis", std::int64_t{-1}}});
  return given;
}

// The loop over the steps: the denoiser on the latents, twice as many with guidance, and the scheduler's step.
Result<ValueId> add_denoising(Graph& graph, const Component& denoiser, const Binding& binding, const Sizes& sizes,
                              NamedValues given, DType type) {
  const Dims latent = {sizes.batch, integer(denoiser.config, "in_channels", 4), sizes.height, sizes.width};
  FORERUN_TRY(Graph network, build(denoiser, binding, sizes.batch * sizes.guidance, sizes));
  graph.blocks.emplace_back().name = "denoising";
  constexpr std::int32_t kBody = 1;
  const ValueId start = add_value(graph, "latents", type, ValueRole::Input, latent);
  graph.main().inputs.push_back(start);
  const ValueId trips = add_value(graph, "calls", DType::Int64, ValueRole::Constant, {});
  graph.values.back().literal = Literal{{sizes.calls}, {}};
  const ValueId step = add_value(graph, "step", DType::Int64, ValueRole::Input, {});
  const ValueId go_on = add_value(graph, "go_on", DType::Bool, ValueRole::Input, {});
  const ValueId current = add_value(graph, "current", type, ValueRole::Input, latent);
  graph.blocks[kBody].inputs = {step, go_on, current};
  const ValueId factor = add_value(graph, "scheduler.factor", type, ValueRole::Constant, {});
  Dims wide = latent;
  wide[0] *= sizes.guidance;
  ValueId sample = current;
  if (sizes.guidance == 2)
    sample = add_node(graph, kBody, OpKind::Concat, {current, current}, wide, {{"axis", std::int64_t{0}}});
  given["sample"] = add_node(graph, kBody, OpKind::Mul, {sample, factor}, wide);
  const NamedValues out = append_graph(graph, std::move(network), kBody, given, denoiser.name);
  ValueId noise = out.at("noise");
  Dims made = graph.values[std::size_t(noise)].dims;
  made[0] = sizes.batch;
  if (sizes.guidance == 2) {
    const ValueId text = add_node(graph, kBody, OpKind::Identity, {noise}, made);
    Node& split = graph.blocks[kBody].nodes.back();
    split.kind = OpKind::Split;
    split.op_type = spec_of(OpKind::Split).name;
    split.attributes = {{"axis", std::int64_t{0}}, {"num_outputs", std::int64_t{2}}};
    const DType noise_type = graph.values[std::size_t(noise)].dtype;
    split.outputs.push_back(add_value(graph, "", noise_type, ValueRole::Computed, made));
    const ValueId other = split.outputs.back();
    const ValueId difference = add_node(graph, kBody, OpKind::Sub, {text, other}, made);
    noise = add_node(graph, kBody, OpKind::Add,
                     {other, add_node(graph, kBody, OpKind::Mul, {difference, factor}, made)}, made);
  }
  if (made == latent) {
    const ValueId change = add_node(graph, kBody, OpKind::Mul, {noise, factor}, made);
    noise = add_node(graph, kBody, OpKind::Add, {current, change}, latent);
  }
  graph.blocks[kBody].outputs = {add_node(graph, kBody, OpKind::Identity, {go_on}, {}), noise};
  const ValueId result = add_node(graph, 0, OpKind::Loop, {trips, kNoValue, start}, latent);
  graph.values[std::size_t(result)].dtype = type;
  Node& loop = graph.main().nodes.back();
  loop.name = "denoising";
  loop.blocks = {{"body", kBody}};
  return result;
}

std::int64_t default_guidance(const Pipeline& pipeline, const Component& denoiser) {
  const auto embedded = denoiser.config.find("time_cond_proj_dim");
  const bool is_distilled = embedded != denoiser.config.end() && !embedded->is_null();
  return is_distilled || pipeline.scheduler == "LCMScheduler" ? 1 : 2;
}

// Steps and guidance: what was asked, or the usual ones with a note.
Status choose_steps(const Pipeline& pipeline, const Binding& binding, const Component& denoiser, Sizes& sizes,
                    std::vector<std::string>& notes) {
  const auto* row = std::find_if(kSchedulers.begin(), kSchedulers.end(), [&](const SchedulerRow& one) {
    return std::string_view(pipeline.scheduler).starts_with(one.start);
  });
  const auto asked = binding.dims.find("steps");
  sizes.steps = asked == binding.dims.end() ? row->steps : asked->second;
  if (sizes.steps < 1 || sizes.steps > kMostSteps)
    return bad_input("--steps must lie in 1 … " + std::to_string(kMostSteps) + " for a diffusion pipeline");
  sizes.calls = sizes.steps + row->more_calls;
  const std::string scheduler = pipeline.scheduler.empty() ? "without a scheduler's file" : pipeline.scheduler;
  if (asked == binding.dims.end())
    notes.push_back("steps not given: " + std::to_string(sizes.steps) + " (" + printable(scheduler) + "), " +
                    std::to_string(sizes.calls) + " calls of the denoiser");
  const auto wanted = binding.dims.find("guidance");
  sizes.guidance = default_guidance(pipeline, denoiser);
  if (wanted != binding.dims.end()) {
    if (wanted->second > 2)
      return bad_input("--dim guidance: 2 runs the denoiser with and without the text, 1 with it");
    sizes.guidance = wanted->second;
  } else if (sizes.guidance == 2) {
    notes.emplace_back("classifier-free guidance doubles the denoiser's batch; --dim guidance=1 leaves it out");
  }
  return ok();
}

void finish(Graph& graph, const std::string& name, std::int64_t batch, std::initializer_list<const char*> dims) {
  graph.name = name;
  graph.format = "diffusers";
  graph.opset = 23;
  graph.origin.framework = Framework::PyTorch;
  graph.origin.form = GraphForm::WrittenOut;
  graph.origin.task = NetworkTask::Vision;
  graph.written_run = WrittenRun{.batch = batch, .sequence = 0};
  graph.bound_dims.assign(dims.begin(), dims.end());
}

}  // namespace

std::optional<Part> part_of(std::string_view class_name) {
  for (const ClassRow& row : kClasses) {
    if (row.name == class_name) return row.part;
  }
  return std::nullopt;
}

Result<Graph> expand_pipeline(const Pipeline& pipeline, const Binding& binding) {
  if (binding.training)
    return bad_input(pipeline.name + ": a pipeline is not trained as one; give the folder of the network to train");
  const Component* denoiser = find(pipeline, Part::Denoiser);
  const Component* decoder = find(pipeline, Part::Decoder);
  if (denoiser == nullptr) return bad_input(pipeline.name + ": the pipeline has no denoiser");
  FORERUN_TRY(Sizes sizes, sizes_of(binding, *denoiser, decoder));
  Graph graph;
  graph.blocks.resize(1);
  graph.warnings = pipeline.warnings;
  if (!binding.batch) graph.warnings.emplace_back("batch not given: 1");
  FORERUN_CHECK(choose_steps(pipeline, binding, *denoiser, sizes, graph.warnings));
  std::vector<NamedValues> encoded;
  for (const Component& component : pipeline.components) {
    if (component.part != Part::TextEncoder) continue;
    FORERUN_TRY(Graph encoder, build(component, binding, sizes.batch * sizes.guidance, sizes));
    encoded.push_back(append_graph(graph, std::move(encoder), 0, {}, component.name));
  }
  const DType type = types_of(binding.precision).activations;
  NamedValues given = join_text(graph, encoded, integer(denoiser->config, "cross_attention_dim", 1280));
  FORERUN_TRY(ValueId image, add_denoising(graph, *denoiser, binding, sizes, std::move(given), type));
  if (decoder != nullptr) {
    FORERUN_TRY(Graph network, build(*decoder, binding, sizes.batch, sizes));
    NamedValues latents;
    const Dims wanted = graph.values[std::size_t(image)].dims;
    for (const ValueId id : network.main().inputs) {
      if (network.values[std::size_t(id)].dims == wanted) latents["latents"] = image;
    }
    image = append_graph(graph, std::move(network), 0, latents, decoder->name).at("image");
  }
  graph.main().outputs = {image};
  finish(graph, pipeline.name, sizes.batch, {"height", "width", "guidance", "steps"});
  FORERUN_CHECK(verify(graph));
  return graph;
}

Result<Graph> expand_component(const Component& component, const std::string& name, const Binding& binding) {
  FORERUN_TRY(const Sizes sizes, sizes_of(binding, component, component.part == Part::Decoder ? &component : nullptr));
  FORERUN_TRY(Graph graph, build(component, binding, sizes.batch, sizes));
  if (!binding.batch) graph.warnings.emplace_back("batch not given: 1");
  finish(graph, name, sizes.batch, {"height", "width"});
  FORERUN_CHECK(verify(graph));
  return graph;
}

}  // namespace forerun::diffusers
