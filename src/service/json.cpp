#include "service/json.hpp"

#include "records/trust.hpp"

namespace forerun {

void write_tensors(JsonWriter& json, std::string_view key, const std::vector<TensorInfo>& list) {
  json.key(key).begin_array();
  for (const TensorInfo& tensor : list) {
    json.begin_object().field("name", tensor.name).field("dtype", tensor.dtype).key("shape");
    if (tensor.shape_known) {
      json.begin_array();
      for (const std::int64_t size : tensor.shape) json.whole(size);
      json.end_array();
    } else {
      json.null();
    }
    if (tensor.is_bound) json.field("bound", true);
    json.end_object();
  }
  json.end_array();
}

void write_workload(JsonWriter& json, const WorkloadInfo& w) {
  json.key("workload").begin_object();
  json.field("name", w.name)
      .field("title", w.title)
      .field("format", w.format)
      .field("batch", w.batch)
      .field("precision", name_of(w.precision));
  json.field("runtime", name_of(w.runtime)).field("phase", name_of(w.phase)).key("sequence");
  w.sequence ? json.whole(*w.sequence) : json.null();
  json.field("training", w.training).key("optimizer");
  w.training ? json.text(name_of(w.optimizer)) : json.null();
  json.field("parameters", w.parameters).field("macs", w.macs).end_object();
}

namespace {

void write_slices(JsonWriter& json, const std::vector<SliceEstimate>& slices) {
  json.key("slices").begin_array();
  for (const SliceEstimate& s : slices) {
    json.begin_object()
        .field("profile", s.profile.profile)
        .field("fits", s.fits)
        .field("instances", s.profile.instances);
    json.field("memory_gib", s.profile.memory_gib)
        .field("sm_count", s.profile.sm_count)
        .field("latency_ms", s.latency_ms);
    json.field("throughput_per_s", s.throughput_per_s)
        .field("total_throughput_per_s", s.total_throughput_per_s)
        .end_object();
  }
  json.end_array();
}

void write_vendors(JsonWriter& json, const std::vector<VendorPrice>& vendors) {
  json.key("vendors").begin_array();
  for (const VendorPrice& v : vendors) {
    json.begin_object().field("cloud", v.cloud).field("instance", v.instance).field("gpus", v.gpus);
    json.field("instances", v.instances).field("usd_per_hour", v.usd_per_hour);
    json.field("usd_per_million", v.usd_per_million);
    if (v.usd_total) json.field("usd_total", *v.usd_total);
    json.field("price_date", v.date).end_object();
  }
  json.end_array();
}

constexpr std::string_view stage_name(Stage stage) {
  return stage == Stage::Forward ? "forward" : stage == Stage::Backward ? "backward" : "update";
}

void write_traffic(JsonWriter& json, const Traffic& traffic) {
  if (traffic.memory > 0)
    json.field("l1_bytes", traffic.l1).field("l2_bytes", traffic.l2).field("memory_bytes", traffic.memory);
}

void write_utilisation(JsonWriter& json, const std::optional<Utilisation>& use) {
  if (!use) return;
  json.key("utilisation").begin_object().field("gpu_busy", use->gpu_busy).field("tensor_core", use->tensor_core);
  json.field("memory_bandwidth", use->memory_bandwidth).field("tensor_core_time", use->tensor_core_time);
  json.field("launch", use->launch).field("host", use->host).end_object();
}

void write_advice(JsonWriter& json, const Advice& a) {
  json.key("advice").begin_object().field("fits", a.fits);
  if (a.mig) {
    json.key("mig")
        .begin_object()
        .field("profile", a.mig->profile)
        .field("instances", a.mig->instances)
        .field("why", a.mig->why);
    write_slices(json, a.slices);
    json.end_object();
  }
  const auto number = [&json](std::string_view key, const std::optional<double>& value) {
    if (value) json.field(key, *value);
  };
  number("usd_per_hour", a.usd_per_hour);
  number("usd_per_million", a.usd_per_million);
  number("usd_total", a.usd_total);
  if (a.usd_per_hour) json.field("price_kind", a.price_kind).field("price_date", a.price_date);
  number("co2_g_per_million", a.co2_g_per_million);
  number("co2_g_total", a.co2_g_total);
  number("hours_total", a.hours_total);
  number("energy_kwh_total", a.energy_kwh_total);
  number("epoch_s", a.epoch_s);
  number("epoch_steps", a.epoch_steps);
  if (!a.vendors.empty()) write_vendors(json, a.vendors);
  json.field("region", a.region).end_object();
}

void write_breakdown(JsonWriter& json, const std::vector<BreakdownRow>& rows) {
  json.key("breakdown").begin_array();
  for (const BreakdownRow& row : rows) {
    json.begin_object().field("kernel", row.kernel).texts("operators", row.operators).field("count", row.count);
    json.field("time_ms", row.time_ms()).field("bound", row.waits_on.empty() ? name_of(row.bound()) : row.waits_on);
    json.field("flops", row.flops).field("bytes", row.bytes);
    write_traffic(json, row.traffic);
    json.key("terms").begin_object();
    if (!row.waits_on.empty()) json.field(row.waits_on, row.waiting_us / 1e3);
    for (const NamedTerm& term : kKernelTerms) json.field(term.name, row.terms.*term.value / 1e3);
    json.end_object().end_object();
  }
  json.end_array();
}

void write_memory_parts(JsonWriter& json, const RankMemory& memory) {
  json.key("memory_parts_mb").begin_object();
  for (std::size_t i = 0; i < kMemoryPartNames.size(); ++i) json.field(kMemoryPartNames[i], memory.parts_mb[i]);
  json.end_object();
}

void write_parallel(JsonWriter& json, const ParallelReport& p) {
  json.key("parallel").begin_object();
  if (!p.system.empty()) json.field("system", p.system);
  if (!p.fabric.empty()) json.field("fabric", p.fabric);
  const Parallelism& l = p.layout;
  json.field("devices", l.devices()).field("nodes", p.nodes).field("tensor_parallel", l.tensor);
  json.field("pipeline_parallel", l.pipeline).field("context_parallel", l.context).field("data_parallel", l.data);
  json.field("expert_parallel", l.expert).field("zero", std::int64_t(p.step.zero));
  json.field("micro_batch", p.step.micro_batch).field("micro_batches", p.step.micro_batches);
  json.field("checkpointing", name_of(p.step.checkpointing));
  const StepBreakdown& t = p.times;
  json.field("mfu", t.mfu).field("samples_per_s", p.samples_per_s);
  if (p.tokens_per_s) json.field("tokens_per_s", *p.tokens_per_s);
  json.field("compute_ms", t.compute_ms).field("communication_ms", t.communication_ms);
  json.field("attention_ms", t.attention_ms)
      .field("hidden_communication_ms", t.hidden_communication_ms)
      .field("bubble_ms", t.bubble_ms);
  json.field("update_ms", t.update_ms).field("input_ms", t.input_ms);
  write_memory_parts(json, p.memory);
  json.key("stages").begin_array();
  for (const StageMemory& stage : p.stages) {
    json.begin_object().field("first_stage", stage.first_stage).field("stages", stage.stages);
    json.field("device_memory_mb", stage.memory.device_total_mb);
    write_memory_parts(json, stage.memory);
    json.end_object();
  }
  json.end_array();
  if (p.memory.host_mb > 0) json.field("host_memory_mb", p.memory.host_mb);
  json.end_object();
}

}  // namespace

void write_serving_metrics(JsonWriter& json, const std::vector<ServingMetric>& metrics) {
  for (const ServingMetric& m : metrics) {
    json.key(m.key).begin_object().field("value", m.value);
    if (m.p50) json.field("p50", *m.p50);
    if (m.p90) json.field("p90", *m.p90);
    if (m.p99) json.field("p99", *m.p99);
    json.field("low", m.low).field("high", m.high).field("basis", name_of(Basis::Roofline));
    json.field("predictor", "roofline").end_object();
  }
}

namespace {

void write_serving(JsonWriter& json, const ServingReport& s) {
  json.key("serving").begin_object().field("engine", s.engine).field("engine_version", s.version);
  json.field("saturated", s.saturated).field("max_concurrency", s.max_concurrency).field("devices", s.devices);
  json.field("kv_capacity_tokens", std::int64_t(s.kv_capacity_tokens));
  json.field("needed_mb", s.needed_mb).field("usable_mb", s.usable_mb).field("preemptions", s.preemptions);
  if (s.highest_rate) json.field("highest_rate_per_s", *s.highest_rate);
  write_serving_metrics(json, s.metrics);
  json.end_object();
}

void write_estimates(JsonWriter& json, std::string_view key, const Estimates& estimates, bool was_measured) {
  json.key(key).begin_object();
  for (const auto& [metric, e] : estimates) {
    json.key(name_of(metric)).begin_object().field("value", e.value).field("low", e.low).field("high", e.high);
    json.field("basis", name_of(e.basis)).field("trust", trust_of(e, was_measured));
    json.field("predictor", e.predictor).end_object();
  }
  json.end_object();
}

void write_runtimes(JsonWriter& json, const std::vector<RuntimeAnswer>& runtimes, bool was_measured) {
  json.key("runtimes").begin_object();
  for (const RuntimeAnswer& answer : runtimes)
    write_estimates(json, name_of(answer.runtime), answer.estimates, was_measured);
  json.end_object().key("runtime_bounds").begin_object();
  for (const RuntimeAnswer& answer : runtimes) json.field(name_of(answer.runtime), name_of(answer.bound));
  json.end_object();
}

void write_result(JsonWriter& json, const DeviceResult& r) {
  json.begin_object().field("device", r.device);
  write_estimates(json, "estimates", r.estimates, r.was_measured);
  if (r.host_share > 0) json.field("host_share", r.host_share);
  write_utilisation(json, r.utilisation);
  if (!r.runtimes.empty()) write_runtimes(json, r.runtimes, r.was_measured);
  if (!r.measured.empty()) {
    json.key("measured").begin_object();
    for (const auto& [metric, value] : r.measured)
      json.key(name_of(metric)).begin_object().field("value", value).field("basis", "measured").end_object();
    json.end_object();
  }
  write_advice(json, r.advice);
  if (r.limits) write_limits(json, *r.limits);
  if (r.parallel) write_parallel(json, *r.parallel);
  if (r.serving) write_serving(json, *r.serving);
  write_breakdown(json, r.breakdown);
  if (!r.capacity.empty()) {
    json.key("capacity").begin_object();
    for (const auto& [key, value] : r.capacity) json.field(key, std::int64_t(value));
    json.end_object();
  }
  if (!r.explanation.empty()) {
    json.key("explanation").begin_array();
    for (const FeatureEffect& c : r.explanation) {
      json.begin_object().field("metric", name_of(c.metric)).field("feature", c.contribution.feature);
      json.field("unit", "").field("value", c.contribution.value).field("factor", c.contribution.factor).end_object();
    }
    json.end_array();
  }
  json.texts("warnings", r.warnings).end_object();
}

}  // namespace

std::string to_json(const InspectReport& report) {
  const Totals& t = report.totals;
  JsonWriter json;
  json.begin_object().field("name", report.name).field("format", report.format);
  write_tensors(json, "inputs", report.inputs);
  write_tensors(json, "outputs", report.outputs);
  json.field("nodes", t.nodes)
      .field("edges", t.edges)
      .field("parameters", t.parameters)
      .field("weight_bytes", t.weight_bytes);
  json.field("macs", t.macs)
      .field("flops", t.flops)
      .field("bytes_moved", t.bytes_moved)
      .field("activation_peak_bytes", t.activation_peak_bytes);
  json.key("operators").begin_object();
  for (const auto& [name, row] : t.operators) {
    json.key(name).begin_object().field("count", row.count).field("macs", row.macs).field("flops", row.flops);
    json.field("parameters", row.parameters).field("bytes_moved", row.bytes_moved).end_object();
  }
  json.end_object()
      .field("coverage", t.coverage)
      .texts("unknown_operators", t.unknown_operators)
      .texts("warnings", report.warnings);
  return json.end_object().take();
}

std::string to_json(const PredictReport& report) {
  JsonWriter json;
  json.begin_object();
  write_workload(json, report.workload);
  if (report.verdict) write_verdict(json, *report.verdict);
  json.key("results").begin_array();
  for (const DeviceResult& result : report.results) write_result(json, result);
  json.end_array();
  if (!report.assertions.empty()) write_assertions(json, report.assertions);
  return with_id(report.id, json.end_object().take());
}

std::string to_json(const MigReport& report) {
  JsonWriter json;
  json.begin_object();
  write_workload(json, report.workload);
  json.field("device", report.device)
      .field("memory_mb", report.memory_mb)
      .field("device_memory_mb", report.device_memory_mb)
      .key("mig");
  if (report.advice) {
    const MigAdvice& mig = *report.advice;
    json.begin_object()
        .field("profile", mig.profile)
        .field("instances", mig.instances)
        .field("why", mig.why)
        .end_object();
  } else {
    json.null();
  }
  write_slices(json, report.slices);
  write_utilisation(json, report.utilisation);
  if (report.advice) json.texts("commands", mig_commands(*report.advice));
  return json.texts("warnings", report.warnings).end_object().take();
}

std::string to_json(const RooflineReport& report) {
  JsonWriter json;
  json.begin_object();
  write_workload(json, report.workload);
  json.field("device", report.device).key("ceilings").begin_array();
  for (const Ceiling& c : report.ceilings) {
    json.begin_object()
        .field("name", c.name)
        .field(c.is_bandwidth ? "gb_per_s" : "tflops", c.value)
        .field("measured", c.is_measured)
        .field("used", c.is_used)
        .end_object();
  }
  json.end_array().key("kernels").begin_array();
  for (const RooflinePoint& p : report.points) {
    json.begin_object();
    if (!p.variant.empty()) json.field("variant", p.variant);
    json.field("kernel", p.kernel).field("stage", stage_name(p.stage)).field("count", p.count).field("flops", p.flops);
    json.field("bytes", p.bytes).field("time_ms", p.time_ms);
    write_traffic(json, p.traffic);
    const auto intensity = [&](double bytes) { return bytes > 0 ? p.flops / bytes : 0; };
    json.key("intensities").begin_object().field("l1", intensity(p.traffic.l1)).field("l2", intensity(p.traffic.l2));
    json.field("memory", intensity(p.traffic.memory)).end_object();
    json.field("intensity", p.intensity)
        .field("gflops_per_s", p.gflops_per_s)
        .field("bound", name_of(p.bound))
        .field("why", p.why)
        .end_object();
  }
  return json.end_array().texts("warnings", report.warnings).end_object().take();
}

}  // namespace forerun
