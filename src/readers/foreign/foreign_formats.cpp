#include "readers/foreign/foreign_formats.hpp"

#include <algorithm>
#include <string>

namespace forerun {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kHead = 16384;  // where a text format shows what it is

struct Probe {
  std::string_view bytes;  // empty for a folder
  std::string_view head;   // of them
  std::string name, extension;
  const Source& source;
};

bool starts(const Probe& p, std::string_view magic, std::size_t at = 0) {
  return p.bytes.size() >= at + magic.size() && p.bytes.substr(at, magic.size()) == magic;
}
bool says(const Probe& p, std::string_view word) { return p.head.find(word) != std::string_view::npos; }
bool is_text(const Probe& p) { return !p.head.empty() && p.head.find('\0') == std::string_view::npos; }
bool ends(const Probe& p, std::initializer_list<std::string_view> extensions) {
  return std::find(extensions.begin(), extensions.end(), p.extension) != extensions.end();
}
// Is a line of the text `wanted`, comments and empty lines before it aside?
bool first_line_is(const Probe& p, std::string_view wanted) {
  for (std::size_t at = 0; at < p.head.size();) {
    const std::size_t end = std::min(p.head.find('\n', at), p.head.size());
    std::string_view line = p.head.substr(at, end - at);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.empty() && line[0] != '#' && line[0] != ';') return line == wanted;
    at = end + 1;
  }
  return false;
}

bool has_sibling(const Probe& p, const char* extension) {
  const std::filesystem::path other = p.source.path.filename();
  return p.source.folder.has(std::filesystem::path(other).replace_extension(extension).string());
}

// NetParameter: a name (1), then layers (100, and 2 in the first version).
bool is_caffe_model(const Probe& p) {
  if (p.extension == ".caffemodel") return true;
  if (p.bytes.size() < 4 || p.bytes[0] != '\x0a') return false;
  const auto length = std::size_t(static_cast<unsigned char>(p.bytes[1]));
  return length < 128 && starts(p, "\xa2\x06"sv, 2 + length);
}

bool is_caffe_text(const Probe& p) {
  return is_text(p) && (says(p, "layer {") || says(p, "layers {") || says(p, "layer{")) &&
         (p.extension == ".prototxt" || (says(p, "bottom:") && says(p, "top:")));
}

bool is_torch_pickle(const Probe& p) {
  // torch.save before 1.6: a pickled magic number; otherwise a pickle by its name.
  if (starts(p, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv)) return true;
  const bool pickled = p.bytes.size() > 2 && p.bytes[0] == '\x80' && p.bytes[1] >= 2 && p.bytes[1] <= 5;
  return pickled && ends(p, {".pt", ".pth", ".bin", ".ckpt"});
}

bool is_pickle(const Probe& p) {
  return p.bytes.size() > 2 && p.bytes[0] == '\x80' && p.bytes[1] >= 2 && p.bytes[1] <= 5 && p.bytes.back() == '.';
}

bool is_core_ml_folder(const Probe& p) {
  return p.source.is_folder && (p.extension == ".mlpackage" || p.extension == ".mlmodelc" ||
                                p.source.folder.has("Data/com.apple.CoreML/model.mlmodel"));
}

struct Foreign {
  std::string_view what;
  bool (*matches)(const Probe&);
  std::string_view remedy;
};

// Tried in order: a magic number before a name.
constexpr Foreign kForeign[] = {
    {"an ONNX Runtime network (.ort)", [](const Probe& p) { return starts(p, "ORTM", 4); },
     "give the .onnx file it was made from"},
    {"an ExecuTorch program (.pte)", [](const Probe& p) { return starts(p, "ET12", 4); },
     "give the torch.export archive (.pt2) or the ONNX file it was made from"},
    {"an OpenVINO network (.xml)",
     [](const Probe& p) { return is_text(p) && says(p, "<net ") && (says(p, "<layers>") || says(p, "version=\"1")); },
     "give the file it was converted from (ONNX, SavedModel, PaddlePaddle)"},
    {"the weights of an OpenVINO network (.bin)",
     [](const Probe& p) { return p.extension == ".bin" && has_sibling(p, ".xml"); },
     "give the file that the network was converted from (ONNX, SavedModel, PaddlePaddle)"},
    {"an ncnn network (.param)", [](const Probe& p) { return first_line_is(p, "7767517"); },
     "give the ONNX or TorchScript file it was converted from"},
    {"the weights of an ncnn network (.bin)",
     [](const Probe& p) { return p.extension == ".bin" && has_sibling(p, ".param"); },
     "give the ONNX or TorchScript file that the network was converted from"},
    {"a Caffe network (.prototxt)", is_caffe_text,
     "convert it to ONNX, for example with OpenVINO's or MMdnn's converter, and give the .onnx file"},
    {"the weights of a Caffe network (.caffemodel)", is_caffe_model,
     "convert it with its .prototxt to ONNX, for example with MMdnn's converter, and give the .onnx file"},
    {"a Darknet configuration (.cfg)",
     [](const Probe& p) { return is_text(p) && (first_line_is(p, "[net]") || first_line_is(p, "[network]")); },
     "convert it to ONNX, for example with a Darknet-to-ONNX script or through Ultralytics, and give the .onnx file"},
    {"the weights of a Darknet network", [](const Probe& p) { return p.extension == ".weights"; },
     "convert the network to ONNX and give the .onnx file"},
    {"a Core ML package", is_core_ml_folder, "give the PyTorch, TensorFlow or ONNX file it was converted from"},
    {"a Core ML network (.mlmodel)",
     [](const Probe& p) { return p.extension == ".mlmodel" || p.extension == ".mlpackage"; },
     "give the PyTorch, TensorFlow or ONNX file it was converted from"},
    {"a TensorRT engine",
     [](const Probe& p) {
       return starts(p, "ptrt") || starts(p, "ftrt") || ends(p, {".engine", ".plan", ".trt"});
     },
     "give the ONNX file it was built from: an engine holds kernels of one device, not a graph"},
    {"an RKNN network", [](const Probe& p) { return starts(p, "RKNN") || p.extension == ".rknn"; },
     "give the ONNX file it was converted from"},
    {"a GGML file from before GGUF",
     [](const Probe& p) { return starts(p, "lmgg") || starts(p, "tjgg") || starts(p, "fmgg"); },
     "convert it to GGUF with llama.cpp's converter, or give the network's config.json"},
    {"an MXNet network (-symbol.json)",
     [](const Probe& p) {
       return is_text(p) && says(p, "\"nodes\"") && p.bytes.find("\"arg_nodes\"") != std::string_view::npos;
     },
     "export it with mxnet.onnx.export_model and give the .onnx file"},
    {"an MNN network (.mnn)", [](const Probe& p) { return p.extension == ".mnn"; },
     "give the ONNX, TensorFlow or Caffe file it was converted from"},
    {"a Tengine network (.tmfile)", [](const Probe& p) { return p.extension == ".tmfile"; },
     "give the ONNX file it was converted from"},
    {"a SNPE or QNN container (.dlc)", [](const Probe& p) { return p.extension == ".dlc"; },
     "give the ONNX file it was converted from"},
    {"a MindSpore network (.mindir)", [](const Probe& p) { return p.extension == ".mindir"; },
     "export it with mindspore.export(file_format=\"ONNX\") and give the .onnx file"},
    {"a PyTorch pickle of weights or objects", is_torch_pickle,
     "it holds no graph: export the network with torch.export.save (.pt2) or torch.onnx.export and give that file"},
    {"a Python pickle", is_pickle, "it holds no graph that can be read safely: export the network to ONNX"},
    {"a NumPy array", [](const Probe& p) { return starts(p, "\x93NUMPY"sv); },
     "it holds no graph: give the network's file"},
    {"a Flax checkpoint (.msgpack)", [](const Probe& p) { return p.extension == ".msgpack"; },
     "it holds weights alone: give the network's config.json, or a SavedModel made by jax2tf"},
    {"a 7-Zip archive", [](const Probe& p) { return starts(p, "7z\xbc\xaf\x27\x1c"sv); },
     "pack the folder as .zip or .tar.gz"},
    {"a RAR archive", [](const Probe& p) { return starts(p, "Rar!\x1a\x07"sv); }, "pack the folder as .zip or .tar.gz"},
    {"a compiled program (ELF)",
     [](const Probe& p) {
       return starts(p,
                     "\x7f"
                     "ELF");
     },
     "it holds machine code, not a graph: give the file it was compiled from"},
};

}  // namespace

std::optional<Error> refuse_foreign(const Source& source) {
  if (!source.is_folder && source.bytes.empty()) return std::nullopt;
  std::string extension = source.path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  const Probe probe{source.bytes, source.bytes.substr(0, kHead), source.path.filename().string(), extension, source};
  for (const Foreign& one : kForeign) {
    if (one.matches(probe))
      return bad_input(source.path.string() + ": " + std::string(one.what) + ", which Forerun does not read; " +
                       std::string(one.remedy));
  }
  return std::nullopt;
}

}  // namespace forerun
