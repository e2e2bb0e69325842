#include "predictors/roofline/live_set.hpp"

#include <algorithm>
#include <cmath>

namespace forerun {

LiveSet::LiveSet(const Graph& graph, const Workload& workload)
    : graph_(graph),
      workload_(workload),
      links_(graph, graph.main()),
      matches_(match_fusions(graph, graph.main(), links_)),
      group_(match_of_nodes(graph.main(), matches_)),
      root_(graph.values.size()),
      inner_(graph.values.size(), false),
      strided_(graph.values.size(), false),
      wide_(graph.values.size(), false),
      uses_(graph.values.size(), 0),
      consumers_(graph.values.size(), 0),
      kept_root_(graph.values.size(), false),
      is_input_(graph.values.size(), false) {
  for (const ValueId in : graph.main().inputs) is_input_[std::size_t(in)] = true;
  for (std::size_t i = 0; i < root_.size(); ++i) root_[i] = ValueId(i);
  for (const Match& match : matches_) {
    for (const NodeId id : match.nodes) {
      for (const ValueId out : node(id).outputs) {
        if (out != kNoValue && out != match.output) inner_[std::size_t(out)] = true;
      }
    }
  }
  for (const Node& node : graph.main().nodes) {
    for (const ValueId in : node.inputs) {
      if (in != kNoValue) ++consumers_[std::size_t(in)];
    }
  }
}

double LiveSet::peak() {
  if (is_autocast(workload_.precision)) widen();
  share_storage();
  if (!workload_.training) hold_module_inputs();
  double highest = forward();
  activation_peak_ = highest;
  return workload_.training ? std::max(highest, backward()) : highest;
}

// Which results are float32 although products run in half precision: those of norms, softmax and resizing, and of
// arithmetic with such or with weights.
void LiveSet::widen() {
  const auto is_wide = [&](ValueId id) {
    return id != kNoValue && (wide_[std::size_t(id)] || (value(id).is_constant && elements_of(value(id)) > 1));
  };
  for (const ValueId in : graph_.main().inputs) wide_[std::size_t(in)] = true;
  for (std::size_t i = 0; i < graph_.main().nodes.size(); ++i) {
    const Node& n = graph_.main().nodes[i];
    bool wide = false;
    const Fusion fusion = group_[i] >= 0 ? matches_[std::size_t(group_[i])].fusion : Fusion::None;
    switch (spec_of(n.kind).op_class) {
      case OpClass::Conv:
      case OpClass::MatMul:
      case OpClass::Attention:
      case OpClass::Recurrent: break;
      case OpClass::Norm:
        wide = n.kind != OpKind::BatchNormalization || (!n.inputs.empty() && is_wide(n.inputs[0]));
        break;
      case OpClass::Softmax: wide = true; break;
      case OpClass::Elementwise: wide = std::any_of(n.inputs.begin(), n.inputs.end(), is_wide); break;
      default:
        wide = n.kind == OpKind::Resize || n.kind == OpKind::Upsample || (!n.inputs.empty() && is_wide(n.inputs[0]));
        break;
    }
    if (fusion == Fusion::LayerNorm || fusion == Fusion::GroupNorm) wide = true;
    if (fusion == Fusion::Gelu || fusion == Fusion::Silu) wide = is_wide(matches_[std::size_t(group_[i])].input);
    if (fusion == Fusion::Attention || fusion == Fusion::LinearBias) wide = false;
    for (const ValueId out : n.outputs) {
      if (out != kNoValue) wide_[std::size_t(out)] = wide;
    }
  }
}

void LiveSet::share_storage() {
  const Block& block = graph_.main();
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    const Node& n = block.nodes[i];
    if (group_[i] >= 0) {
      const Match& match = matches_[std::size_t(group_[i])];
      if (match.fusion == Fusion::Silu && match.nodes.back() == NodeId(i))
        root_[std::size_t(match.output)] = root(match.input);
    } else if (shares_storage(n) && !copies(n)) {
      for (const ValueId out : n.outputs) {
        if (out != kNoValue) root_[std::size_t(out)] = root(n.inputs[0]);
      }
    }
    follow_strides(n);
    for (const ValueId in : n.inputs) {
      if (in != kNoValue) ++uses_[std::size_t(root(in))];
    }
  }
  for (const ValueId out : block.outputs) {
    if (out != kNoValue) ++uses_[std::size_t(root(out))];
  }
}

void LiveSet::release(std::span<const ValueId> values) {
  for (const ValueId in : values) {
    if (in != kNoValue && --uses_[std::size_t(root(in))] == 0 && !kept_root_[std::size_t(root(in))])
      live_ -= size(root(in));
  }
}

double LiveSet::made_by(const Node& node) const {
  double made = 0;
  for (const ValueId out : node.outputs) {
    if (out != kNoValue && root(out) == out) made += size(out);
  }
  return made;
}

double LiveSet::forward() {
  const Block& block = graph_.main();
  for (const ValueId in : block.inputs) {
    live_ += size(in);
    if (!is_cache(in)) ++uses_[std::size_t(root(in))];  // the caller holds an input; a cache is replaced layer by layer
  }
  double highest = live_;
  std::vector<std::vector<ValueId>> held(matches_.size());
  std::size_t returned = 0;
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    const Node& n = block.nodes[i];
    const double made = made_by(n);
    live_ += made;
    highest = std::max(highest, live_ + workspace(n, NodeId(i)));
    if (workload_.training && n.needed) keep_for_backward(n, NodeId(i));
    const bool normalized = n.kind == OpKind::Conv && is_folded_batch_norm(graph_, n);
    if (normalized && workload_.training && n.needed)
      keep_copy(made, NodeId(i));  // the convolution's result beside the normalised one
    // A group's inputs stay until its last node has made the result.
    if (group_[i] < 0) {
      release(n.inputs);
    } else {
      std::vector<ValueId>& mine = held[std::size_t(group_[i])];
      mine.insert(mine.end(), n.inputs.begin(), n.inputs.end());
      if (matches_[std::size_t(group_[i])].nodes.back() == NodeId(i)) release(mine);
    }
    for (const ValueId out : n.outputs) {  // the end of a branch that leads nowhere
      if (!n.needed && out != kNoValue && root(out) == out && uses_[std::size_t(out)] == 0) live_ -= size(out);
    }
    for (; returned < returns_.size() && returns_[returned].first == NodeId(i); ++returned)
      release({&returns_[returned].second, 1});
    if (normalized) highest = std::max(highest, live_ + made);
  }
  return highest;
}

// Gradients flow back: each result's lives from its last use to its maker, each kept tensor goes with the first
// operator that needed it.
double LiveSet::backward() {
  const Block& block = graph_.main();
  std::vector<bool> has_gradient(graph_.values.size(), false);
  std::vector<bool> counted(graph_.values.size(), false);
  const auto flows = [&](ValueId id) {
    return id != kNoValue && !value(id).is_constant && !is_stored(value(id)) && size(root(id)) > 0;
  };
  double highest = live_;
  for (const ValueId out : block.outputs) {
    if (!flows(out)) continue;
    // A dense output's target has its size, and so has what the loss makes on the way; all in float32.
    const double elements = double(elements_of(value(out)));
    if (value(out).dims.size() > 2) {
      live_ += 4 * elements;
      highest = std::max(highest, live_ + 8 * elements);
      if (graph_.origin.task == NetworkTask::Language) {
        loss_ += 4 * elements + size(root(out));
      } else {
        activation_peak_ = std::max(activation_peak_, highest);
      }
    }
    live_ += size(root(out));
    has_gradient[std::size_t(root(out))] = true;
  }
  std::size_t last = kept_.size();
  for (NodeId id = NodeId(block.nodes.size()) - 1; id >= 0; --id) {
    const Node& n = node(id);
    if (!n.needed) continue;
    double moment = 0;
    for (const ValueId in : n.inputs) {
      if (!flows(in) || is_input_[std::size_t(root(in))]) continue;
      if (has_gradient[std::size_t(root(in))]) {
        moment += size(root(in));  // added to the one that is there
      } else {
        has_gradient[std::size_t(root(in))] = true;
        live_ += size(root(in));
      }
    }
    for (const ValueId in : n.inputs) {
      if (in == kNoValue || !is_weight(value(in)) || counted[std::size_t(in)]) continue;
      counted[std::size_t(in)] = true;
      live_ += 4 * double(elements_of(value(in)));
      gradients_ += 4 * double(elements_of(value(in)));
    }
    const double now = live_ + moment + workspace(n, id);
    highest = std::max(highest, now);
    activation_peak_ = std::max(activation_peak_, now - gradients_ - loss_);
    for (const ValueId out : n.outputs) {
      if (out == kNoValue || root(out) != out || !has_gradient[std::size_t(out)]) continue;
      has_gradient[std::size_t(out)] = false;
      live_ -= size(out);
    }
    while (last > 0 && kept_[last - 1].by >= id) {
      --last;
      live_ -= kept_[last].bytes;
    }
  }
  return highest;
}

// A module's caller holds its argument until the module returns, and a module what it had set aside for a concatenation
// (the skips of a U-Net). Exporters name a node by the path of modules it ran in. Code that a tracer wrote calls all
// modules from one place and drops what it has used.
void LiveSet::hold_module_inputs() {
  struct Open {
    std::string_view path;
    NodeId first;
  };
  const Block& block = graph_.main();
  std::vector<NodeId> maker(graph_.values.size(), -1);
  std::vector<Open> open;
  NodeId last = -1;  // the last node that ran
  const bool sets_aside = graph_.origin.has_call_paths;
  const auto close = [&](const Open& module) {
    if (module.first == last) return;
    std::vector<ValueId> arguments;
    for (NodeId id = module.first; id <= last; ++id) {
      const Node& n = block.nodes[std::size_t(id)];
      const bool joins = sets_aside && n.kind == OpKind::Concat && module_of(graph_, n) == module.path;
      for (const ValueId in : n.inputs) {
        if (in == kNoValue || (maker[std::size_t(in)] >= module.first && !(joins && consumers_[std::size_t(in)] > 1)))
          continue;
        const ValueId root = root_[std::size_t(in)];
        if (size(root) > 0 && !is_cache(root)) arguments.push_back(root);
      }
    }
    std::sort(arguments.begin(), arguments.end());
    arguments.erase(std::unique(arguments.begin(), arguments.end()), arguments.end());
    for (const ValueId root : arguments) {
      ++uses_[std::size_t(root)];
      returns_.emplace_back(last, root);
    }
  };
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    const Node& node = block.nodes[i];
    for (const ValueId out : node.outputs) {
      if (out != kNoValue) maker[std::size_t(out)] = NodeId(i);
    }
    if (std::all_of(node.outputs.begin(), node.outputs.end(),
                    [&](ValueId out) { return out == kNoValue || size(out) == 0; }))
      continue;
    const std::string_view name = module_of(graph_, node);
    while (!open.empty() && !(name.starts_with(open.back().path) &&
                              (name.size() == open.back().path.size() || name[open.back().path.size()] == '/'))) {
      close(open.back());
      open.pop_back();
    }
    std::size_t at = open.empty() ? 0 : open.back().path.size() + 1;
    while (at < name.size() && open.size() < 64) {
      const std::size_t next = std::min(name.size(), name.find('/', at));
      if (next > at) open.push_back({name.substr(0, next), NodeId(i)});
      at = next + 1;
    }
    last = NodeId(i);
  }
  for (; !open.empty(); open.pop_back()) close(open.back());
  if (sets_aside) close({{}, 0});
  std::stable_sort(returns_.begin(), returns_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

double LiveSet::size(ValueId id) const {
  const Value& v = value(id);
  if (inner_[std::size_t(id)] || v.is_constant || is_stored(v) || v.form != ValueForm::Tensor) return 0;
  const double elements = double(elements_of(v));
  const bool real = is_floating(v.dtype) && v.dtype != DType::Float64;
  const double bytes = !real ? elements * bits_of(v.dtype) / 8.0
                             : elements * (wide_[std::size_t(id)] ? 4 : activation_bytes(workload_.precision));
  return std::ceil(bytes / 512) * 512;  // the allocator's granule
}

double LiveSet::workspace(const Node& n, NodeId id) const {
  if (n.inputs.empty() || n.inputs[0] == kNoValue || n.outputs.empty() || n.outputs[0] == kNoValue) return 0;
  const OpClass op_class = spec_of(n.kind).op_class;
  if (op_class == OpClass::Conv) return convolution_workspace(n);
  if (n.kind == OpKind::MaxPool)
    return workload_.training ? 0 : 8 * double(elements_of(value(n.outputs[0])));  // indices, made and dropped
  if (op_class == OpClass::MatMul && value(n.inputs[0]).dims.size() > 2 &&
      group_[std::size_t(id)] < 0) {  // batched products copy strided operands
    double copied = 0;
    for (const ValueId in : n.inputs) copied += in != kNoValue && strided_[std::size_t(in)] ? size(root(in)) : 0;
    return copied;
  }
  // Attention without a fused kernel: scores before and after their guard, and which are infinite; operands in float32.
  const auto unfused = [](double batch, double m, double n, double k) {
    return batch * (9 * m * n + 4 * (m + 2 * n) * k);
  };
  if (op_class == OpClass::Attention && attention_path(graph_, n, workload_) >= AttentionPath::Unfused) {
    const Dims& q = value(n.inputs[0]).dims;
    return unfused(double(q[0] * q[1]), double(q[2]), double(value(n.inputs[1]).dims[2]), double(q[3]));
  }
  if (group_[std::size_t(id)] >= 0 && !workload_.training) {
    const Match& match = matches_[std::size_t(group_[std::size_t(id)])];
    const Node& scores = node(match.main);
    if (match.fusion != Fusion::Attention || match.nodes.back() != id ||
        attention_path(graph_.main(), links_, match) == AttentionPath::Fused)
      return 0;
    const Dims& shape = value(scores.outputs[0]).dims;
    if (shape.size() < 2 || value(scores.inputs[0]).dims.empty()) return 0;
    const double m = double(shape[shape.size() - 2]), keys = double(shape.back()),
                 elements = double(elements_of(value(scores.outputs[0])));
    return unfused(elements / std::max(1.0, m * keys), m, keys, double(value(scores.inputs[0]).dims.back()));
  }
  return 0;
}

// On tensor cores channels-last copies of input, weights and output, their channels filled up to what the units take;
// in TF32 small products run without, and middling ones write their results in place (34,000 convolutions measured on
// the H200).
double LiveSet::convolution_workspace(const Node& n) const {
  if (workload_.precision == Precision::IeeeFp32 || n.inputs.size() < 2 || n.inputs[1] == kNoValue) return 0;
  const Value& x = value(n.inputs[0]);
  const Value& y = value(n.outputs[0]);
  const Value& w = value(n.inputs[1]);
  const auto groups = int_attribute(n, "group", 1);
  if (x.dims.size() < 3 || y.dims.size() < 3 || w.dims.size() < 3 || (groups > 1 && groups == x.dims[1])) return 0;
  const auto strides = ints_attribute(n, "strides");
  double taps = 1;
  for (std::size_t i = 2; i < w.dims.size(); ++i) taps *= double(w.dims[i]);
  const bool plain_stride = std::all_of(strides.begin(), strides.end(), [](std::int64_t step) { return step == 1; });
  const bool product = taps == 1 && groups == 1;
  if (product && plain_stride) return 0;  // in any layout
  const double bytes = is_autocast(workload_.precision) ? 2 : activation_bytes(workload_.precision);
  const double in = double(x.dims[1]), out = double(y.dims[1]);
  const bool half = bytes == 2;
  const bool as_it_is = in <= 4 && taps <= 121 && workload_.precision == Precision::Fp16;
  const double unit = !half ? 4 : as_it_is ? 1 : 8;
  const auto filled = [](double channels, double to) { return std::ceil(channels / to) * to / channels; };
  const double input = bytes * double(elements_of(x)) * filled(in, unit),
               output = bytes * double(elements_of(y)) * filled(out, half ? 8 : 4);
  const double weight = bytes * double(elements_of(w)) * filled(in, unit) * filled(out, half ? 8 : 4);
  if (groups == 1 && w.dims.size() == 4 && n.kind == OpKind::Conv) {
    if (half && in <= 12 && taps < 33) return 0;
    const bool patches = !strides.empty() && strides.front() == w.dims[2];
    if (half && in <= 4 && patches && taps < 576 && out <= 448) return 0;
    if (product) return !half && in <= 64 ? 0 : input + output;
    const double macs = double(elements_of(y)) * in * taps, k = in * taps;
    if (!half && in <= 28 && macs < 3.6e9) return 0;
    if (!half && macs < 3.7e8 && k <= 2232) return k <= 372 && input <= 1.3e6 ? 0 : input + weight;
  }
  return input + output + weight;
}

bool LiveSet::shares_storage(const Node& n) const {
  if (n.inputs.empty() || n.inputs[0] == kNoValue || n.kind == OpKind::Shape || n.kind == OpKind::Size) return false;
  if (spec_of(n.kind).op_class == OpClass::Free) return true;
  switch (n.kind) {
    case OpKind::Transpose:
    case OpKind::Slice:
    case OpKind::Split:
    case OpKind::Expand:
    case OpKind::Cast: return true;  // views
    case OpKind::Relu:
    case OpKind::Clip:
    case OpKind::HardSwish:
    case OpKind::LeakyRelu:
      return consumers_[std::size_t(n.inputs[0])] ==
             1;  // written in place by nearly every network, where nobody else reads
    default: return false;
  }
}

// Merging dimensions of a transposed tensor copies it.
bool LiveSet::copies(const Node& node) const {
  if ((node.kind != OpKind::Reshape && node.kind != OpKind::Flatten) || !strided_[std::size_t(node.inputs[0])])
    return false;
  return !keeps_strides(graph_.values[std::size_t(node.inputs[0])].dims,
                        graph_.values[std::size_t(node.outputs[0])].dims);
}

void LiveSet::follow_strides(const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kNoValue || node.outputs.empty() || node.outputs[0] == kNoValue) return;
  const bool view = node.kind == OpKind::Transpose || node.kind == OpKind::Slice || node.kind == OpKind::Split ||
                    node.kind == OpKind::Expand;
  const bool keeps = spec_of(node.kind).op_class == OpClass::Elementwise ||
                     (spec_of(node.kind).op_class == OpClass::Free && !copies(node));
  for (const ValueId out : node.outputs) {
    if (out != kNoValue) strided_[std::size_t(out)] = view || (keeps && strided_[std::size_t(node.inputs[0])]);
  }
}

// `as_operand`: of a product, which a mixed-precision run gives a narrow copy.
void LiveSet::keep(ValueId id, NodeId by, bool as_operand) {
  if (id == kNoValue || value(id).is_constant) return;
  const ValueId source = root(id);
  if (as_operand && wide_[std::size_t(id)]) return keep_copy(2 * double(elements_of(value(id))), by);
  if (kept_root_[std::size_t(source)] || size(source) <= 0) return;
  kept_root_[std::size_t(source)] = true;
  saved_ += size(source);
  kept_.push_back({by, is_input_[std::size_t(source)] ? 0 : size(source)});  // inputs stay with the caller
}

void LiveSet::keep_copy(double bytes, NodeId by) {
  if (bytes <= 0) return;
  saved_ += bytes;
  live_ += bytes;
  kept_.push_back({by, bytes});
}

void LiveSet::keep_for_backward(const Node& n, NodeId id) {
  if (n.inputs.empty() || n.inputs[0] == kNoValue || n.outputs.empty() || n.outputs[0] == kNoValue) return;
  if (const std::int32_t group = group_[std::size_t(id)]; group >= 0) {
    const Match& match = matches_[std::size_t(group)];
    if (match.nodes.back() != id) return;
    keep(match.input, id, match.fusion == Fusion::LinearBias);
    if (match.fusion == Fusion::Silu) keep_copy(size(root(match.input)), id);  // in place: the input is copied first
    if (match.fusion == Fusion::Attention) {
      for (const ValueId in : node(match.main).inputs) keep(in, id);
      for (const ValueId in : n.inputs) keep(in, id);
      keep(match.output, id);
    }
    return;
  }
  const OpClass op_class = spec_of(n.kind).op_class;
  switch (op_class) {
    case OpClass::Conv:
    case OpClass::MatMul:
    case OpClass::Attention:
    case OpClass::Recurrent:
      for (const ValueId in : n.inputs) keep(in, id, true);
      if (op_class == OpClass::Attention) keep(n.outputs[0], id);
      break;
    case OpClass::Norm:
    case OpClass::Pool:
      for (const ValueId in : n.inputs) keep(in, id);
      if (n.kind == OpKind::MaxPool) keep_copy(8 * double(elements_of(value(n.outputs[0]))), id);  // indices
      break;
    case OpClass::Softmax: keep(n.outputs[0], id); break;
    case OpClass::Elementwise:
      // Sums pass the gradient on; products and activations need their operands.
      if (n.kind != OpKind::Add && n.kind != OpKind::Sub && n.kind != OpKind::Sum) {
        for (const ValueId in : n.inputs) keep(in, id);
      }
      // Written in place, but the gradient needs the input: it is copied first.
      if (n.kind == OpKind::Clip || n.kind == OpKind::HardSwish) keep_copy(size(root(n.inputs[0])), id);
      break;
    default: break;
  }
}

double LiveSet::saved_between(NodeId first, NodeId last, bool only_scores) const {
  double bytes = 0;
  for (const Kept& kept : kept_) {
    if (kept.by < first || kept.by >= last) continue;
    if (only_scores) {
      const Node& by = node(kept.by);
      const bool scores = by.kind == OpKind::Softmax || (by.kind == OpKind::MatMul && by.inputs.size() > 1 &&
                                                         by.inputs[1] != kNoValue && !value(by.inputs[1]).is_constant);
      if (!scores) continue;
    }
    bytes += kept.bytes;
  }
  return bytes;
}

}  // namespace forerun
