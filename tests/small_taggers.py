"""Taggers for tests: small networks with drawn weights, and a treebank whose trees follow from the words."""

from __future__ import annotations

from pathlib import Path
from random import Random

import torch

from lisdata.tagger.network import HexatagNetwork, TaggerConfig

SIZES = TaggerConfig(deprels=("root", "det", "obj"), num_rows=50, feature_width=6, width=8, num_layers=2)


def drawn_network(seed: int = 0, config: TaggerConfig = SIZES) -> HexatagNetwork:
    """Return a network whose weights are large enough for words to matter."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        network = HexatagNetwork(config)
        for parameter in network.parameters():
            parameter.data += torch.randn_like(parameter) / 2
    return network.eval()


def write_treebank(path: Path, *, num_sentences: int, seed: int) -> Path:
    """Write sentences "the N verb the N ..." whose trees follow from the forms; return `path`."""
    random = Random(seed)
    nouns, verbs = [f"noun{n}" for n in range(20)], [f"verb{n}" for n in range(10)]
    blocks = []
    for _ in range(num_sentences):
        words = ["the", random.choice(nouns), random.choice(verbs), "the", random.choice(nouns)]
        heads, deprels = [2, 3, 0, 5, 3], ["det", "nsubj", "root", "det", "obj"]
        if random.random() < 0.5:
            words, heads, deprels = words[1:], [2, 0, 4, 2], deprels[1:]
        rows = zip(range(1, 9), words, heads, deprels, strict=False)
        blocks.append("".join(f"{n}\t{word}\t_\t_\t_\t_\t{head}\t{deprel}\t_\t_\n" for n, word, head, deprel in rows))
    path.write_text("\n".join(blocks) + "\n")
    return path
