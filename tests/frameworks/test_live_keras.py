"""Keras models and TensorFlow functions."""
import os

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import forerun
from conftest import NETWORKS, PARITY

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
pytest.importorskip("keras_hub")
import keras_networks
import tensorflow_networks

L = keras.layers


class Subclass(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.head = L.Dense(8, activation="relu"), L.Dense(3)

    def call(self, x):
        return self.head(self.hidden(x))


class Pair(keras.Model):
    def call(self, left, right):
        return tf.matmul(left, right)


MACS = 5 * (4 * 8 + 8 * 3)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_model_is_its_fixture(name, reads_as):
    reads_as(PARITY / f"{name}.keras", keras_networks.NETWORKS[name]())


@pytest.mark.parametrize("build", tensorflow_networks.NETWORKS, ids=lambda build: build.__name__)
def test_a_function_of_a_model_is_its_fixture(build, reads_as):
    model = build()
    run = tf.function(lambda x: model(x, training=False), autograph=False)
    signature = tf.TensorSpec(model.inputs[0].shape, model.inputs[0].dtype, name="x")
    reads_as(PARITY / f"{build.__name__}.savedmodel.pb", run.get_concrete_function(signature))


def test_subclasses_are_traced():
    report = forerun.inspect(Subclass(), tf.zeros([5, 4]))
    assert report.macs == MACS and report.parameters == 4 * 8 + 8 + 8 * 3 + 3 and report.coverage == 1.0
    assert forerun.inspect(Subclass(), input=[1, 4], batch=5).macs == MACS
    built = Subclass()
    built(tf.zeros([5, 4]))
    assert forerun.inspect(built).macs == MACS and len(built.weights) == 4
    for inputs in ((tf.zeros([3, 4]), tf.zeros([4, 2])), {"right": tf.zeros([4, 2]), "left": tf.zeros([3, 4])}):
        assert forerun.inspect(Pair(), inputs).macs == 24
    with pytest.raises(forerun.ForerunError, match="Subclass is a subclass.*needs example inputs"):
        forerun.inspect(Subclass())


def test_sequences_without_a_shape_take_one():
    model = keras.Sequential([L.Dense(8), L.Dense(3)])
    assert forerun.inspect(model, input=[5, 4]).macs == MACS and not model.built
    with pytest.raises(forerun.ForerunError, match="has not been built and needs example inputs"):
        forerun.inspect(model)
    assert forerun.dippm.predict(model, batch=5, input="4").latency_ms > 0


def test_free_dimensions_take_the_example_s():
    x = keras.Input((None, None, 3))
    model = keras.Model(x, L.Conv2D(4, 3)(x))
    assert forerun.inspect(model, tf.zeros([2, 8, 8, 3])).macs == 2 * 36 * 4 * 27
    assert forerun.inspect(model, batch=2, dims={"height": 8, "width": 8}).macs == 2 * 36 * 4 * 27


def test_functions_take_inputs_shapes_or_their_signature():
    weight, table = tf.Variable(tf.zeros([4, 8])), tf.zeros([8, 70000])

    @tf.function
    def run(x):
        return tf.matmul(tf.matmul(x, weight), table)

    wanted = 5 * (32 + 8 * 70000)
    with pytest.raises(forerun.ForerunError, match="tf.function without input_signature needs example inputs"):
        forerun.inspect(run)
    for report in (forerun.inspect(run, tf.zeros([5, 4])), forerun.inspect(run, input=[5, 4]), forerun.inspect(run, input={"x": [5, 4]}),
                   forerun.inspect(run.get_concrete_function(tf.TensorSpec([None, 4])), batch=5)):
        assert report.macs == wanted and report.parameters == 32 + 8 * 70000 and report.coverage == 1.0
    signed = tf.function(lambda x: tf.matmul(x, weight), input_signature=[tf.TensorSpec([None, 4])])
    assert forerun.inspect(signed, batch=5).macs == 160


def test_loaded_modules_are_their_signature(tmp_path):
    class Scale(tf.Module):
        def __init__(self):
            super().__init__()
            self.weight = tf.Variable(tf.zeros([4, 8]))

        @tf.function(input_signature=[tf.TensorSpec([None, 4])])
        def __call__(self, x):
            return tf.matmul(x, self.weight)

    module = Scale()
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.__call__)
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    for model in (module, loaded, str(tmp_path / "saved")):
        report = forerun.inspect(model, batch=5)
        assert report.macs == 160 and report.parameters == 32


def test_the_published_call_takes_models_and_files(tmp_path):
    x = keras.Input((16, 16, 3))
    model = keras.Model(x, L.Dense(2)(L.GlobalAveragePooling2D()(L.Conv2D(8, 3, activation="relu")(x))))
    same = forerun.predict(model, batch=8, device="a100-sxm-40gb").latency_ms.value
    model.save(tmp_path / "network.keras")
    model.save(tmp_path / "network.h5")
    model.export(tmp_path / "saved", verbose=False)
    for file in (model, "network.keras", "network.h5", "saved"):
        answer = forerun.dippm.predict(str(tmp_path / file) if isinstance(file, str) else file, batch=8, input="16,16,3", device="A100")
        assert answer.latency_ms == pytest.approx(same, rel=0.1)
