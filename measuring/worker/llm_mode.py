"""Mode "llm": a Hugging Face config with random weights; phases forward (encoders), prefill and decode.

Weights are tied as the architecture ties them: sharing found on the meta network is restored once it has memory."""
import contextlib
import json

import torch

import precision
from step_measurement import fresh, measure_step, preparing

OWN_FIELDS = {"forerun_task", "forerun_name", "architectures", "attn_implementation"}


class BuiltLlm:
    def __init__(self, config, dtype):
        from transformers import AutoConfig, AutoModel, AutoModelForCausalLM
        fields = {k: v for k, v in config.items() if k not in OWN_FIELDS and k != "model_type"}
        self.config = AutoConfig.for_model(config["model_type"], **fields)
        self.task = config.get("forerun_task", "causal")
        cls = AutoModelForCausalLM if self.task == "causal" else AutoModel
        attention = {"attn_implementation": config["attn_implementation"]} if "attn_implementation" in config else {}
        with torch.device("meta"):
            self.module = cls.from_config(self.config, dtype=dtype, **attention).eval()
        groups = {}
        for name, p in self.module.named_parameters(remove_duplicate=False):
            groups.setdefault(id(p), []).append(name)
        self.shared = [names for names in groups.values() if len(names) > 1]
        self.parameters = sum(p.numel() for p in self.module.parameters())
        self.filled = False

    def fill(self, device):
        module = self.module.to_empty(device=device)
        for names in self.shared:
            first = module.get_parameter(names[0])
            for name in names[1:]:
                owner, _, leaf = name.rpartition(".")
                setattr(module.get_submodule(owner), leaf, first)
        with torch.no_grad():
            for p in module.parameters():
                p.normal_(0, 0.02) if p.dim() > 1 else p.fill_(0.5)
            for name, b in module.named_buffers():
                if name.endswith("position_ids"):
                    b.copy_(torch.arange(b.shape[-1], device=device).expand_as(b))
                elif b.is_floating_point():
                    b.fill_(0.1)
                else:
                    b.zero_()
        self.filled = True


def llm(session, request):
    dtype = precision.TYPES[request["precision"]]
    config = request["network"]["config"]
    key = json.dumps([config, str(dtype)], sort_keys=True)
    if session.network_key != key:
        old, session.network, session.network_key = session.network, None, None
        made = BuiltLlm(config, dtype)
        with preparing(session, request):
            del old
            session.drop()
            session.residue_mb = fresh(session.clock)
            made.fill(session.device)
        session.network, session.network_key = made, key
    built = session.network
    with contextlib.ExitStack() as held, torch.inference_mode():
        held.enter_context(preparing(session, request))
        precision.apply(request["precision"])
        batch, length, phase = request["batch"], request["sequence"], request["phase"]
        module = built.module
        ids = torch.randint(5, built.config.vocab_size - 5, (batch, length), device=session.device)
        fresh(session.clock)
        keep = lambda: None
        if phase == "decode":
            cache = module(input_ids=ids, use_cache=True, logits_to_keep=1).past_key_values
            token = ids[:, :1].clone()
            fresh(session.clock)

            def step():
                module(input_ids=token, past_key_values=cache, use_cache=True)
                cache.crop(length)
            keep = lambda: [(layer.keys, layer.values) for layer in getattr(cache, "layers", [])]
        elif phase == "prefill":
            run = lambda m: m(input_ids=ids, use_cache=True)
        elif built.task == "seq2seq":
            decoder = ids[:, :max(8, length // 4)].contiguous()
            run = lambda m: m(input_ids=ids, decoder_input_ids=decoder, use_cache=False)
        else:
            run = lambda m: m(input_ids=ids)
        compilable = ()
        if phase != "decode":
            compilable, step = (module, run), lambda: run(module)
        metrics = measure_step(session, step, request, held, keep=keep, compilable=compilable)
        metrics.update(parameters=built.parameters, tied=bool(built.shared), residue_mb=session.residue_mb)
        return metrics
