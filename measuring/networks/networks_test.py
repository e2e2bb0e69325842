"""python3 -m unittest discover -s measuring/networks -p '*_test.py'   (needs onnx; the PyTorch part is skipped where torch is missing)"""
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import families
import sampler

try:
    import onnx
except ImportError:
    onnx = None
try:
    import torch
    import torch_network
except ImportError:
    torch = None


def samples(count=2):
    r = random.Random(11)
    for family in sampler.FAMILIES:
        made = 0
        while made < count:
            spec, resolution = sampler.sample(family, r)
            try:
                yield family, spec, families.build(spec, resolution)
            except ValueError:
                continue
            made += 1


class Families(unittest.TestCase):
    def test_every_family_has_a_sampler(self):
        self.assertEqual(set(families.FAMILIES), set(sampler.FAMILIES))

    def test_the_same_seed_samples_the_same_network(self):
        for family in sampler.FAMILIES:
            self.assertEqual(sampler.sample(family, random.Random(5)), sampler.sample(family, random.Random(5)))

    def test_published_networks_have_their_published_size(self):
        for spec, millions in ((dict(family="resnet"), 25.557032), (dict(family="mobilenet_v2"), 3.504872), (dict(family="densenet"), 7.978856),
                               (dict(family="vit"), 86.567656), (dict(family="swin"), 28.288354), (dict(family="convnext"), 28.589128),
                               (dict(family="squeezenet"), 1.235496), (dict(family="alexnet"), 61.10084)):
            if torch is None:
                self.skipTest("needs torch")
            network = torch_network.TorchNetwork(families.build(spec, 224), device="meta")
            self.assertEqual(sum(p.numel() for p in network.parameters()), round(millions * 1e6), spec)

    @unittest.skipIf(onnx is None, "needs onnx")
    def test_emitted_graphs_infer_the_shapes_the_builder_knows(self):
        from onnx_graph import onnx_model
        for family, spec, builder in samples():
            model = onnx.shape_inference.infer_shapes(onnx_model(builder), check_type=True, strict_mode=True)
            for output, value in zip(model.graph.output, builder.outputs):
                found = [d.dim_param or d.dim_value for d in output.type.tensor_type.shape.dim]
                self.assertEqual(found, ["N", *builder.shapes[value]], f"{family} {spec}")
            heavy = [t.name for t in model.graph.initializer if len(t.raw_data) > 512 or len(t.float_data) > 64]
            self.assertEqual(heavy, [], "graphs are weight-free")

    @unittest.skipIf(torch is None, "needs torch")
    def test_modules_give_the_shapes_the_builder_knows(self):
        with torch.no_grad():
            for spec, resolution in ((dict(family="resnet", block="basic", layers=[1, 1, 1, 1], base=8), 64), (dict(family="vit", dim=32, heads=2, layers=1), 32),
                                     (dict(family="swin", dim=16, heads=[1, 2, 4, 8], depths=[2, 2, 1, 1], window=2), 64), (dict(family="unet", base=4, depth=2, convs=1), 96),
                                     (dict(family="cnn3d", base=8, layers=[1, 1, 1, 1], kind="r2plus1d"), 32), (dict(family="nasbench201", cell=["conv3x3"] * 6, N=1), 32)):
                builder = families.build(spec, resolution)
                network = torch_network.fill(torch_network.on_meta(builder), "cpu").eval()
                results = network(torch.randn(2, *builder.input_shape))
                results = results if isinstance(results, tuple) else (results,)
                self.assertEqual([tuple(y.shape) for y in results], [(2, *builder.shapes[v]) for v in builder.outputs], spec)
                self.assertTrue(all(torch.isfinite(y).all() for y in results), spec)


if __name__ == "__main__":
    unittest.main()
