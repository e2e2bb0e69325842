#include "readers/foreign/foreign_formats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forerun {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

std::string refusal(const std::string& name, const std::string& bytes) {
  Source source;
  source.path = name;
  source.bytes = bytes;
  const auto error = refuse_foreign(source);
  return error ? error->message : "";
}

TEST(RefuseForeign, NamesTheFormatAndWhatToGive) {
  const std::vector<std::tuple<std::string, std::string, std::string, std::string>> files = {
      {"a.ort", "\x14\0\0\0ORTM...."s, "ONNX Runtime", ".onnx"},
      {"a.pte", "\x14\0\0\0ET12...."s, "ExecuTorch", ".pt2"},
      {"a.xml", "<?xml version=\"1.0\"?>\n<net name=\"a\" version=\"11\"><layers>", "OpenVINO", "converted from"},
      {"a.prototxt", "# A net\nname: \"a\"\nlayer {\n  bottom: \"x\"\n}", "Caffe", "ONNX"},
      {"a.caffemodel",
       "\x0a\x01"
       "a\xa2\x06\x05"s,
       "Caffe", "ONNX"},
      {"a.cfg", "# yolo\n\n[net]\nbatch=1", "Darknet", "ONNX"},
      {"a.param", "7767517\n3 3\nInput data 0 1 data", "ncnn", "ONNX"},
      {"a.mlmodel", "\x08\x01\x12\x02", "Core ML", "ONNX"},
      {"a.engine", "ftrt\0\0"s, "TensorRT", "ONNX"},
      {"a.mnn", "\x20\0\0\0xxxx"s, "MNN", "ONNX"},
      {"a.pt", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s, "PyTorch pickle", "torch.export"},
      {"a.pkl", "\x80\x04\x95."s, "Python pickle", "ONNX"},
      {"a.npy", "\x93NUMPY\x01\0"s, "NumPy", "no graph"},
      {"a-symbol.json", "{\"nodes\": [], \"arg_nodes\": [0]}", "MXNet", "export_model"},
  };
  for (const auto& [name, bytes, what, remedy] : files) {
    const std::string message = refusal(name, bytes);
    EXPECT_THAT(message, HasSubstr(name + ": ")) << name;
    EXPECT_THAT(message, HasSubstr(what)) << name;
    EXPECT_THAT(message, HasSubstr(remedy)) << name;
  }
}

TEST(RefuseForeign, SaysNothingOfWhatItDoesNotKnow) {
  EXPECT_EQ(refusal("a.bin", "some bytes"), "");
  EXPECT_EQ(refusal("a.json", "{}"), "");
  EXPECT_EQ(refusal("a.txt", "layers of cake"), "");
  EXPECT_EQ(refusal("a.onnx", ""), "");
}

}  // namespace
}  // namespace forerun
