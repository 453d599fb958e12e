"""BLiMP: all pairs are read, published scores come out again, likelihoods in closed form decide as they must."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from toy_language_models import CHARACTERS, Bigram, Uniform

from lisdata.errors import BadRecordError, LisDataError, SchemaError
from lisdata.evaluation.blimp import (
    Pair,
    Paradigm,
    evaluate_blimp,
    field_scores,
    hash_paradigms,
    macro_score,
    phenomenon_scores,
    read_blimp,
    read_paradigm,
)
from lisdata.evaluation.causal_scorer import CausalScorer, CausalScoring
from lisdata.evaluation.item_results import ItemResults

Line = dict[str, Any]


def line(number: int, good: str = "Cats sleep.", bad: str = "Cats sleeps.", **fields: Any) -> Line:
    known = {"sentence_good": good, "sentence_bad": bad, "field": "syntax", "linguistics_term": "binding", "UID": "toy"}
    return known | {"pairID": str(number)} | fields


def write(path: Path, lines: list[Line]) -> Path:
    data = "".join(json.dumps(body) + "\n" for body in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def paradigm(*pairs: tuple[str, str], name: str = "toy") -> Paradigm:
    numbered = (Pair(number=number, good=good, bad=bad) for number, (good, bad) in enumerate(pairs))
    return Paradigm(name=name, field="syntax", phenomenon="binding", label="binding", pairs=tuple(numbered))


@pytest.fixture(scope="module")
def blimp(shared: Path) -> list[Paradigm]:
    return read_blimp(shared / "data" / "blimp")


def test_all_pairs_are_read(blimp: list[Paradigm]) -> None:
    assert len(blimp) == 67
    assert all(len(paradigm.pairs) == 1000 for paradigm in blimp)
    assert all({pair.number for pair in paradigm.pairs} == set(range(1000)) for paradigm in blimp)
    assert {paradigm.field for paradigm in blimp} == {"morphology", "semantics", "syntax", "syntax_semantics"}
    assert len({paradigm.phenomenon for paradigm in blimp}) == 12
    assert len({paradigm.label for paradigm in blimp}) == 13


@pytest.mark.parametrize("model", ["ngram", "lstm", "txl", "gpt2"])
def test_the_authors_summaries_come_out_again(shared: Path, blimp: list[Paradigm], model: str) -> None:
    path = shared / "data" / "blimp" / "reference" / "models_summary.jsonl"
    rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    scores = {row["UID"]: row[model] for row in rows if row["UID"] != "overall"}
    overall = {row["linguistics_term"]: row[model] for row in rows if row["UID"] == "overall"}

    assert macro_score(scores) == pytest.approx(overall.pop("overall"), abs=1e-9)
    assert phenomenon_scores(scores, blimp) == pytest.approx(overall, abs=1e-9)


def test_the_score_is_the_pooled_accuracy(blimp: list[Paradigm]) -> None:
    verdicts = {p.name: {pair.number: len(pair.good) < len(pair.bad) for pair in p.pairs} for p in blimp}

    scores = ItemResults(model="shorter", verdicts=verdicts).group_scores()

    pooled = sum(right for items in verdicts.values() for right in items.values()) / 67_000
    assert macro_score(scores) == pytest.approx(pooled)
    fields = field_scores(scores, blimp)
    sizes = {field: sum(p.field == field for p in blimp) for field in fields}
    assert sum(sizes[field] * score for field, score in fields.items()) / 67 == pytest.approx(pooled)


def test_a_uniform_model_prefers_the_shorter_sentence_of_every_pair(shared: Path) -> None:
    paradigms = read_blimp(shared / "data" / "blimp", max_pairs=20)
    scorer = CausalScorer(Uniform(), CHARACTERS, CausalScoring(start="\n"))

    results = evaluate_blimp(paradigms, scorer, model="uniform")

    for paradigm in paradigms:
        lengths = {pair.number: (len(pair.good), len(pair.bad)) for pair in paradigm.pairs}
        expected = {n: None if good == bad else good < bad for n, (good, bad) in lengths.items()}
        assert results.verdicts[paradigm.name] == expected
    assert results.num_ties > 0


def test_the_likelier_sentence_wins() -> None:
    model = Bigram()
    pairs = [("ab", "ba"), ("ba", "ab"), ("aaa", "aab"), ("abc", "ab")]

    results = evaluate_blimp([paradigm(*pairs)], CausalScorer(model, CHARACTERS, CausalScoring(start="\n")), model="m")

    def log_probability(text: str) -> float:
        ids = CHARACTERS.encode_batch(["\n" + text]).ids.tolist()
        return sum(model.table[now, following].item() for now, following in pairwise(ids))

    expected = {number: log_probability(good) > log_probability(bad) for number, (good, bad) in enumerate(pairs)}
    assert results.verdicts == {"toy": expected}


def test_a_tie_is_wrong_unless_it_is_said_to_count_half() -> None:
    scorer = CausalScorer(Uniform(), CHARACTERS, CausalScoring(start="\n"))

    results = evaluate_blimp([paradigm(("ab", "ba"), ("a", "ab"))], scorer, model="uniform")

    assert results.verdicts == {"toy": {0: None, 1: True}}
    assert results.group_scores() == {"toy": 0.5}
    assert results.group_scores("half") == {"toy": 0.75}


def test_sentences_of_the_same_tokens_tie_in_whatever_batches_they_are() -> None:
    scorer = CausalScorer(Bigram().float(), CHARACTERS, CausalScoring(start="\n", batch_tokens=12))
    pairs = [("a\u0416bcde", "a\u0417bcde")] * 5 + [("abc", "abcd")]  # both letters are unknown to the tokenizer

    results = evaluate_blimp([paradigm(*pairs)], scorer, model="bigram")

    assert [results.verdicts["toy"][number] for number in range(5)] == [None] * 5


def test_the_seven_pairs_of_one_sentence_are_ties(blimp: list[Paradigm]) -> None:
    same = [replace(p, pairs=found) for p in blimp if (found := tuple(q for q in p.pairs if q.good == q.bad))]
    scorer = CausalScorer(Bigram().float(), CHARACTERS, CausalScoring(start="\n"))

    results = evaluate_blimp(same, scorer, model="bigram")

    assert {name: len(items) for name, items in results.verdicts.items()} == {"passive_1": 2, "principle_A_case_2": 5}
    assert results.num_ties == 7


def test_a_model_that_diverged_is_told_with_the_sentence() -> None:
    model = Uniform()
    model.logits.data[3] = float("nan")
    scorer = CausalScorer(model, CHARACTERS, CausalScoring(start="\n"))

    with pytest.raises(LisDataError, match="surprisals of 'Cats sleep': expected numbers, found nan"):
        evaluate_blimp([paradigm(("Cats sleep", "Cats sleeps"))], scorer, model="nan")


def test_files_may_be_compressed_or_not_and_cut_short(tmp_path: Path) -> None:
    lines = [line(number, UID=name) for name in ("b",) for number in range(3)]
    write(tmp_path / "b.jsonl.gz", lines)
    write(tmp_path / "a.jsonl", [body | {"UID": "a", "field": "syntax/semantics"} for body in lines])

    paradigms = read_blimp(tmp_path, max_pairs=2)

    assert [(p.name, p.field, len(p.pairs)) for p in paradigms] == [("a", "syntax_semantics", 2), ("b", "syntax", 2)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: body.pop("sentence_bad"), "sentence_bad"),
        (lambda body: body.update(sentence_good=3), "sentence_good: expected a text, found 3"),
        (lambda body: body.update(pairID="x"), "pairID: expected a number, found 'x'"),
        (lambda body: body.update(pairID="0"), "expected each pair once, found pair 0 again"),
        (lambda body: body.update(UID="other"), "expected a pair of toy, syntax, binding, found one of other, syntax"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(tmp_path: Path, change: Callable[[Line], Any], message: str) -> None:
    lines = [line(0), line(1)]
    change(lines[1])
    path = write(tmp_path / "toy.jsonl.gz", lines)

    with pytest.raises(SchemaError) as caught:
        read_paradigm(path)

    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


def test_what_is_no_json_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "toy.jsonl").write_bytes(json.dumps(line(0)).encode() + b"\n\n{\n")

    with pytest.raises(SchemaError, match=r"toy\.jsonl:3: expected a JSON object"):
        read_paradigm(tmp_path / "toy.jsonl")


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "toy.jsonl.gz", [line(0)])
    path.write_bytes(path.read_bytes()[:-9])

    with pytest.raises(BadRecordError, match=r"toy\.jsonl\.gz"):
        read_paradigm(path)


def test_a_file_or_folder_without_pairs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"expected the \.jsonl or \.jsonl\.gz files of BLiMP, found none"):
        read_blimp(tmp_path)
    with pytest.raises(SchemaError, match=r"toy\.jsonl: expected pairs of sentences, found none"):
        read_paradigm(write(tmp_path / "toy.jsonl", []))


def test_two_files_of_one_paradigm_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}.jsonl", [line(0)])

    with pytest.raises(SchemaError, match=r"b\.jsonl: expected another paradigm than 'toy'"):
        read_blimp(tmp_path)


def test_no_pairs_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="max_pairs=0 is not a positive number"):
        read_blimp(tmp_path, max_pairs=0)


def test_the_hash_knows_the_pairs_and_not_the_files(tmp_path: Path) -> None:
    plain = read_paradigm(write(tmp_path / "a.jsonl", [line(0)]))
    compressed = read_paradigm(write(tmp_path / "b.jsonl.gz", [line(0)]))
    other = read_paradigm(write(tmp_path / "c.jsonl", [line(0, bad="Cat sleep.")]))

    assert hash_paradigms([plain]) == hash_paradigms([compressed]) != hash_paradigms([other])
