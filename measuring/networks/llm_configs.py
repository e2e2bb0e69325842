"""Hugging Face style configs of many architectures: published shapes and seeded variations. Weights are tied as each architecture says.

forerun_task: encoder (base network), causal (with its language-model head) or seq2seq (encoder and decoder, no head)."""


def _llama(kind, layers, hidden, heads, kv, inner, vocab, tied, **more):
    return dict(model_type=kind, forerun_task="causal", num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                num_key_value_heads=kv, intermediate_size=inner, vocab_size=vocab, max_position_embeddings=8192,
                tie_word_embeddings=tied, **more)


def _encoder(kind, layers, hidden, heads, inner, vocab, positions=512, **more):
    return dict(model_type=kind, forerun_task="encoder", num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                intermediate_size=inner, vocab_size=vocab, max_position_embeddings=positions, **more)


CAUSAL = {
    "llama-3.2-1b": _llama("llama", 16, 2048, 32, 8, 8192, 128256, True, head_dim=64),
    "llama-3.2-3b": _llama("llama", 28, 3072, 24, 8, 8192, 128256, True, head_dim=128),
    "llama-3.1-8b": _llama("llama", 32, 4096, 32, 8, 14336, 128256, False),
    "tinyllama-1.1b": _llama("llama", 22, 2048, 32, 4, 5632, 32000, False),
    "smollm2-135m": _llama("llama", 30, 576, 9, 3, 1536, 49152, True),
    "smollm2-360m": _llama("llama", 32, 960, 15, 5, 2560, 49152, True),
    "smollm2-1.7b": _llama("llama", 24, 2048, 32, 32, 8192, 49152, True),
    "mistral-7b": _llama("mistral", 32, 4096, 32, 8, 14336, 32000, False, sliding_window=None),
    "mistral-small-variant": _llama("mistral", 12, 1024, 16, 4, 3584, 32000, False, sliding_window=None),
    "qwen2.5-0.5b": _llama("qwen2", 24, 896, 14, 2, 4864, 151936, True),
    "qwen2.5-1.5b": _llama("qwen2", 28, 1536, 12, 2, 8960, 151936, True),
    "qwen2.5-3b": _llama("qwen2", 36, 2048, 16, 2, 11008, 151936, True),
    "qwen3-0.6b": _llama("qwen3", 28, 1024, 16, 8, 3072, 151936, True, head_dim=128),
    "qwen3-1.7b": _llama("qwen3", 28, 2048, 16, 8, 6144, 151936, True, head_dim=128),
    "gemma-2b": _llama("gemma", 18, 2048, 8, 1, 16384, 256000, True, head_dim=256),
    "gemma2-2b": _llama("gemma2", 26, 2304, 8, 4, 9216, 256000, True, head_dim=256),
    "phi3-variant": _llama("phi3", 16, 1536, 16, 16, 4096, 32064, False, pad_token_id=0),
    "olmo-1b": _llama("olmo", 16, 2048, 16, 16, 8192, 50304, True),
    "stablelm-variant": _llama("stablelm", 12, 1024, 16, 16, 2816, 50304, False),
    "phi-1.5": dict(model_type="phi", forerun_task="causal", num_hidden_layers=24, hidden_size=2048, num_attention_heads=32,
                    intermediate_size=8192, vocab_size=51200, max_position_embeddings=4096, tie_word_embeddings=False),
    "gpt2": dict(model_type="gpt2", forerun_task="causal", n_positions=2048),
    "gpt2-medium": dict(model_type="gpt2", forerun_task="causal", n_layer=24, n_embd=1024, n_head=16, n_positions=2048),
    "gpt2-xl": dict(model_type="gpt2", forerun_task="causal", n_layer=48, n_embd=1600, n_head=25, n_positions=2048),
    "opt-125m": dict(model_type="opt", forerun_task="causal", num_hidden_layers=12, hidden_size=768, ffn_dim=3072, num_attention_heads=12,
                     word_embed_proj_dim=768, max_position_embeddings=4096),
    "opt-1.3b": dict(model_type="opt", forerun_task="causal", num_hidden_layers=24, hidden_size=2048, ffn_dim=8192, num_attention_heads=32,
                     word_embed_proj_dim=2048, max_position_embeddings=4096),
    "pythia-160m": dict(model_type="gpt_neox", forerun_task="causal", num_hidden_layers=12, hidden_size=768, intermediate_size=3072,
                        num_attention_heads=12, vocab_size=50304, max_position_embeddings=4096),
    "pythia-1.4b": dict(model_type="gpt_neox", forerun_task="causal", num_hidden_layers=24, hidden_size=2048, intermediate_size=8192,
                        num_attention_heads=16, vocab_size=50304, max_position_embeddings=4096),
    "bloom-560m": dict(model_type="bloom", forerun_task="causal", n_layer=24, hidden_size=1024, n_head=16, vocab_size=250880),
}

ENCODERS = {
    "bert-base": _encoder("bert", 12, 768, 12, 3072, 30522),
    "bert-large": _encoder("bert", 24, 1024, 16, 4096, 30522),
    "bert-small": _encoder("bert", 4, 512, 8, 2048, 30522),
    "bert-mini": _encoder("bert", 4, 256, 4, 1024, 30522),
    "roberta-base": _encoder("roberta", 12, 768, 12, 3072, 50265, 514, type_vocab_size=1),
    "xlm-roberta-base": _encoder("xlm-roberta", 12, 768, 12, 3072, 250002, 514, type_vocab_size=1),
    "electra-base": _encoder("electra", 12, 768, 12, 3072, 30522, embedding_size=768),
    "electra-small": _encoder("electra", 12, 256, 4, 1024, 30522, embedding_size=128),
    "albert-base": _encoder("albert", 12, 768, 12, 3072, 30000, embedding_size=128),
    "distilbert-base": dict(model_type="distilbert", forerun_task="encoder", n_layers=6, dim=768, n_heads=12, hidden_dim=3072, vocab_size=30522,
                            max_position_embeddings=512),
    "deberta-v3-small": _encoder("deberta-v2", 6, 768, 12, 3072, 128100, relative_attention=True, position_buckets=256,
                                 norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"],
                                 max_relative_positions=-1, position_biased_input=False, type_vocab_size=0),
    "mpnet-base": _encoder("mpnet", 12, 768, 12, 3072, 30527, 514),
    "t5-small": dict(model_type="t5", forerun_task="seq2seq", d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8),
    "t5-base": dict(model_type="t5", forerun_task="seq2seq", d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12),
    "bart-base": dict(model_type="bart", forerun_task="seq2seq", d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12,
                      decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072, vocab_size=50265, max_position_embeddings=1024),
}


def variations(r, count, label=""):
    """Seeded shapes between the published ones; label tells the shapes of one plan from another's."""
    made = {}
    for i in range(count):
        dim = r.choice([64, 64, 96, 128])
        heads = r.choice([4, 8, 12, 16, 20])
        kind = r.choice(["llama", "qwen2", "mistral"])
        more = {"sliding_window": None} if kind == "mistral" else {}
        made[f"{kind}-random-{label}{i}"] = _llama(kind, r.choice([4, 6, 10, 16, 20]), dim * heads, heads, heads // r.choice([1, 2, 4]),
                                            r.choice([2, 3, 4]) * dim * heads, r.choice([8192, 32000, 65536]), r.random() < 0.5, head_dim=dim, **more)
        hidden = 64 * r.choice([4, 6, 8, 10, 12, 16])
        made[f"bert-random-{label}{i}"] = _encoder("bert", r.choice([2, 3, 6, 8, 10, 16]), hidden, hidden // 64, hidden * r.choice([2, 3, 4]), r.choice([8000, 30522, 119547]), 1024)
    return made


def parameters_estimate(c):
    """Rough, only to choose batches."""
    h = c.get("hidden_size") or c.get("n_embd") or c.get("d_model") or c.get("dim", 768)
    n = c.get("num_hidden_layers") or c.get("n_layer") or c.get("n_layers") or 2 * c.get("num_layers", 6)
    inner = c.get("intermediate_size") or c.get("ffn_dim") or 4 * h
    return n * (4 * h * h + 3 * h * inner) + c.get("vocab_size", 50257) * h
