# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformer architectures, two small layers each with seeded random weights.

`build` gives a module, its inputs by name, which axes of them are dynamic, and
the name of its one output.
"""

from dataclasses import dataclass, field

BATCH, TOKENS, WORDS, WIDTH, HEADS = 2, 9, 61, 32, 4

# What most configurations of transformers call these sizes.
SIZES = dict(vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=2,
             num_attention_heads=HEADS, intermediate_size=48, max_position_embeddings=64)
GROUPED = dict(SIZES, num_key_value_heads=2)
GPT = dict(vocab_size=WORDS, n_embd=WIDTH, n_layer=2, n_head=HEADS, n_positions=64)
ENCODER_DECODER = dict(vocab_size=WORDS, d_model=WIDTH, encoder_layers=1, decoder_layers=1,
                       encoder_attention_heads=HEADS, decoder_attention_heads=HEADS,
                       encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64)
T5 = dict(vocab_size=WORDS, d_model=WIDTH, d_kv=8, d_ff=48, num_layers=1, num_decoder_layers=1,
          num_heads=HEADS)
IMAGE = dict(hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS,
             intermediate_size=48, image_size=16, patch_size=4)
WHISPER = dict(vocab_size=WORDS, d_model=WIDTH, encoder_layers=1, decoder_layers=1,
               encoder_attention_heads=HEADS, decoder_attention_heads=HEADS,
               encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=8,
               max_source_positions=8, max_target_positions=16, pad_token_id=0,
               bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
# Four stages of blocks, each on a coarser grid, and attention behind convolutions.
SEGFORMER = dict(hidden_sizes=[8, 16, 16, WIDTH], num_attention_heads=[1, 2, 2, HEADS],
                 depths=[1, 1, 1, 1], image_size=32)
MOBILEVIT = dict(hidden_sizes=[16, 24, WIDTH], neck_hidden_sizes=[8, 8, 12, 16, 16, 16, 32],
                 num_attention_heads=2, image_size=32)
FNET = dict(vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=2, intermediate_size=48,
            max_position_embeddings=64)
# Experts of a few numbers each, two of them for a token.
EXPERTS = dict(GROUPED, num_experts_per_tok=2, moe_intermediate_size=24)
LATENT = dict(EXPERTS, n_routed_experts=8, n_shared_experts=1, kv_lora_rank=16, q_lora_rank=16,
              qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1,
              n_group=4, topk_group=2, num_key_value_heads=HEADS)
# States that each token updates: of channels, or matrices of heads.
MAMBA = dict(vocab_size=WORDS, hidden_size=WIDTH, state_size=8, num_hidden_layers=2, time_step_rank=4)
MAMBA2 = dict(GROUPED, mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=2, mamba_d_state=8,
              mamba_chunk_size=8)
DELTA = dict(GROUPED, head_dim=8, linear_num_value_heads=4, linear_num_key_heads=2,
             linear_key_head_dim=8, linear_value_head_dim=8,
             layer_types=["linear_attention", "full_attention"])
# What is unrolled takes long to write; the older exporter gives up on most of it.
UNROLLED, BY_DYNAMO = dict(exporters="20|23|17"), dict(exporters="20|23")
SPECIAL = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)


@dataclass(frozen=True)
class Architecture:
    model: str                # class of transformers
    config: dict
    inputs: str = "masked"    # which of `INPUTS`
    output: str = "logits"    # field of the result
    part: str = ""            # of the model, "" for all of it
    more: dict = field(default_factory=dict)  # of the configuration
    exporters: str = ""       # a regular expression of those that are tried


ARCHITECTURES = {
    "gpt2": Architecture("GPT2LMHeadModel", GPT, "ids", more=SPECIAL),
    "bert": Architecture("BertModel", SIZES, output="last_hidden_state"),
    "roberta": Architecture("RobertaModel", SIZES, output="last_hidden_state"),
    "distilbert": Architecture("DistilBertModel", dict(
        vocab_size=WORDS, dim=WIDTH, n_layers=2, n_heads=HEADS, hidden_dim=48,
        max_position_embeddings=64), output="last_hidden_state"),
    "opt": Architecture("OPTForCausalLM", dict(
        vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS,
        ffn_dim=48, max_position_embeddings=64, word_embed_proj_dim=WIDTH), more=SPECIAL),
    "gptj": Architecture("GPTJForCausalLM", dict(GPT, rotary_dim=4), "ids", more=SPECIAL),
    "gpt-neox": Architecture("GPTNeoXForCausalLM", SIZES, "ids", more=SPECIAL),
    "llama": Architecture("LlamaForCausalLM", GROUPED, more=SPECIAL),
    "smollm": Architecture("LlamaForCausalLM", dict(GROUPED, tie_word_embeddings=True), "ids",
                           more=SPECIAL),
    "qwen2": Architecture("Qwen2ForCausalLM", GROUPED, more=SPECIAL),
    "qwen3": Architecture("Qwen3ForCausalLM", dict(GROUPED, head_dim=8), more=SPECIAL),
    "mistral": Architecture("MistralForCausalLM", dict(GROUPED, sliding_window=4), "ids",
                            more=SPECIAL),
    "phi": Architecture("PhiForCausalLM", dict(SIZES, partial_rotary_factor=0.5), "ids",
                        more=SPECIAL),
    "phi3": Architecture("Phi3ForCausalLM", GROUPED, "ids", more=SPECIAL),
    "gemma2": Architecture("Gemma2ForCausalLM", dict(GROUPED, head_dim=8, sliding_window=4),
                           "ids", more=SPECIAL),
    "gemma3": Architecture("Gemma3ForCausalLM", dict(GROUPED, head_dim=8, sliding_window=4),
                           "ids", more=SPECIAL),
    "mixtral": Architecture("MixtralForCausalLM", dict(GROUPED, num_local_experts=4), more=SPECIAL),
    "qwen2-moe": Architecture("Qwen2MoeForCausalLM", dict(
        EXPERTS, num_experts=8, shared_expert_intermediate_size=24), "ids", more=SPECIAL),
    "qwen3-moe": Architecture("Qwen3MoeForCausalLM", dict(
        EXPERTS, num_experts=8, head_dim=8, norm_topk_prob=True), "ids", more=SPECIAL),
    "gpt-oss": Architecture("GptOssForCausalLM", dict(
        EXPERTS, num_local_experts=8, head_dim=8, sliding_window=4), "ids", more=SPECIAL),
    "deepseek-v2": Architecture("DeepseekV2ForCausalLM", dict(
        LATENT, topk_method="group_limited_greedy"), "ids", more=SPECIAL),
    "deepseek-v3": Architecture("DeepseekV3ForCausalLM", LATENT, "ids", more=SPECIAL),
    "llama4": Architecture("Llama4ForCausalLM", dict(
        GROUPED, head_dim=8, num_local_experts=4, num_experts_per_tok=1, intermediate_size_mlp=48,
        attention_chunk_size=4), "ids", more=SPECIAL),
    "mamba": Architecture("MambaForCausalLM", MAMBA, "ids", more=SPECIAL, **UNROLLED),
    "falcon-mamba": Architecture("FalconMambaForCausalLM", MAMBA, "ids", more=SPECIAL, **UNROLLED),
    "mamba2": Architecture("Mamba2ForCausalLM", dict(
        vocab_size=WORDS, hidden_size=WIDTH, state_size=8, num_hidden_layers=2, num_heads=8, head_dim=8,
        n_groups=2, chunk_size=8), "ids", more=SPECIAL, **BY_DYNAMO),
    "bamba": Architecture("BambaForCausalLM", dict(MAMBA2, attn_layer_indices=[1]), "ids", more=SPECIAL, **BY_DYNAMO),
    "falcon-h1": Architecture("FalconH1ForCausalLM", dict(MAMBA2, mamba_d_ssm=64), "ids", more=SPECIAL, **BY_DYNAMO),
    "jamba": Architecture("JambaForCausalLM", dict(
        GROUPED, num_experts=1, num_experts_per_tok=1, attn_layer_period=2, attn_layer_offset=1,
        mamba_d_state=8, mamba_dt_rank=4, use_mamba_kernels=False), "ids", more=SPECIAL, **UNROLLED),
    "zamba2": Architecture("Zamba2ForCausalLM", dict(
        GROUPED, mamba_d_state=8, n_mamba_heads=8, mamba_headdim=8, mamba_ngroups=2, chunk_size=8,
        layers_block_type=["mamba", "hybrid"], num_mem_blocks=1), "ids", more=SPECIAL, **BY_DYNAMO),
    "nemotron-h": Architecture("NemotronHForCausalLM", dict(
        GROUPED, mamba_num_heads=8, mamba_head_dim=8, n_groups=2, ssm_state_size=8, chunk_size=8,
        hybrid_override_pattern="M*", head_dim=8), "ids", more=SPECIAL, **BY_DYNAMO),
    "lfm2": Architecture("Lfm2ForCausalLM", dict(
        GROUPED, layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False), "ids",
        more=SPECIAL, **UNROLLED),
    "rwkv": Architecture("RwkvForCausalLM", dict(
        vocab_size=WORDS, hidden_size=WIDTH, attention_hidden_size=WIDTH, intermediate_size=48,
        num_hidden_layers=2, context_length=64), "ids", more=SPECIAL, **BY_DYNAMO),
    "recurrent-gemma": Architecture("RecurrentGemmaForCausalLM", dict(
        GROUPED, block_types=["recurrent", "attention"], lru_width=WIDTH, attention_window_size=8), "ids",
        more=SPECIAL, **UNROLLED),
    "xlstm": Architecture("xLSTMForCausalLM", dict(
        vocab_size=WORDS, hidden_size=WIDTH, embedding_dim=WIDTH, num_hidden_layers=2, num_blocks=2,
        num_heads=HEADS, chunk_size=8), "ids", more=SPECIAL, **BY_DYNAMO),
    "minimax": Architecture("MiniMaxForCausalLM", dict(
        GROUPED, head_dim=8, block_size=8, num_local_experts=2, num_experts_per_tok=1,
        layer_types=["linear_attention", "full_attention"]), "ids", more=SPECIAL, **BY_DYNAMO),
    "qwen3-next": Architecture("Qwen3NextForCausalLM", dict(
        DELTA, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24,
        shared_expert_intermediate_size=24), "ids", more=SPECIAL, **BY_DYNAMO),
    "qwen3-5": Architecture("Qwen3_5ForCausalLM", DELTA, "ids", more=SPECIAL, **BY_DYNAMO),
    "olmo-hybrid": Architecture("OlmoHybridForCausalLM", dict(DELTA, linear_num_key_heads=4), "ids",
                                more=SPECIAL, **BY_DYNAMO),
    "t5": Architecture("T5ForConditionalGeneration", T5, "two", more=dict(
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)),
    "bart": Architecture("BartForConditionalGeneration", ENCODER_DECODER, "two", more=dict(
        SPECIAL, decoder_start_token_id=2)),
    "vit": Architecture("ViTModel", IMAGE, "pixels", "last_hidden_state"),
    "whisper-encoder": Architecture("WhisperModel", WHISPER, "spectrum", "last_hidden_state",
                                    part="encoder"),
    "segformer": Architecture("SegformerModel", SEGFORMER, "image", "last_hidden_state"),
    "mobilevit": Architecture("MobileViTModel", MOBILEVIT, "image", "last_hidden_state"),
    "fnet": Architecture("FNetModel", FNET, "words", "last_hidden_state"),
}


def input_tensors(kind, count=TOKENS):
    """The inputs by name, of so many tokens, and, for each, the names of its dynamic axes."""
    import torch

    generator = torch.Generator().manual_seed(1)

    def ids(tokens=count):
        return torch.randint(3, WORDS, (BATCH, tokens), generator=generator)

    def numbers(*shape):
        return torch.randn(shape, generator=generator)

    both = {0: "batch", 1: "sequence"}
    if kind in ("ids", "words"):  # these without a mask, ever
        return {"input_ids": ids()}, {"input_ids": both}
    if kind == "masked":
        mask = torch.ones((BATCH, count), dtype=torch.int64)
        mask[1, count - 2:] = 0
        return ({"input_ids": ids(), "attention_mask": mask},
                {"input_ids": both, "attention_mask": both})
    if kind == "two":
        return ({"input_ids": ids(), "decoder_input_ids": ids(5)},
                {"input_ids": both, "decoder_input_ids": {0: "batch", 1: "decoded"}})
    if kind == "pixels":
        return {"pixel_values": numbers(BATCH, 3, 16, 16)}, {"pixel_values": {0: "batch"}}
    if kind == "image":
        return {"pixel_values": numbers(BATCH, 3, 32, 32)}, {"pixel_values": {0: "batch"}}
    if kind == "spectrum":
        return {"input_features": numbers(BATCH, 8, 16)}, {"input_features": {0: "batch"}}
    raise ValueError(kind)


def model_of(name, attention, experts="batched_mm"):
    """`attention` is eager or sdpa; `experts` batched_mm or eager, a loop over them."""
    import torch
    import transformers

    which = ARCHITECTURES[name]
    model_class = getattr(transformers, which.model)
    torch.manual_seed(0)
    config = model_class.config_class(**{**which.config, **which.more})
    # Not every model has sdpa; transformers takes eager then.
    config._attn_implementation = attention if model_class._supports_sdpa else "eager"
    config._experts_implementation = experts
    config.use_cache = False
    model = model_class(config).eval()
    # Norms and biases begin as ones and zeros, which would hide mistakes.
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def build(name, attention, batch, masked, tokens=TOKENS, experts="batched_mm"):
    """`batch` is 1 or 2; `masked` gives every decoder an attention mask, without which the older exporter meets
    operators that it does not know."""
    import torch

    which, model = ARCHITECTURES[name], model_of(name, attention, experts)
    kind = "masked" if masked and which.inputs == "ids" else which.inputs
    inputs, axes = input_tensors(kind, tokens)
    inputs = {key: value[2 - batch:] for key, value in inputs.items()}
    names = list(inputs)
    flags = {"use_cache": False} if which.inputs in ("ids", "masked", "two") else {}

    class Exported(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = getattr(model, which.part) if which.part else model

        def forward(self, *values):
            result = self.model(**dict(zip(names, values)), **flags)
            return getattr(result, which.output)

    return Exported(), inputs, axes, which.output
