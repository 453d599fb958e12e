"""Journeys between addresses, and the attention that reads them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lisdata.journeys.arrays import Float64
from lisdata.journeys.blocks import Blocks
from lisdata.journeys.rotations import Rotations

OperatorsT = TypeVar("OperatorsT", Rotations, Blocks)


def journey(target: OperatorsT, source: OperatorsT) -> OperatorsT:
    """Return P_{j->i} = A(i)^-1 A(j) from the address A(j) of the source to A(i) of the target (LIS Definition 4.6).

    For A(t, e') = R_t R_e' and A(s, e) = R_s R_e it is (R_t R_e')^-1 R_s R_e. The instance e = e' drops out where role
    and instance factors commute.
    """
    return target.inverse() @ source


def pairwise_journeys(addresses: OperatorsT) -> OperatorsT:
    """Return the journeys between all of T addresses, shape (T, T): [i, j] is P_{j->i}."""
    return journey(addresses[:, None], addresses[None, :])


def relation_rotation(subject_role: OperatorsT, object_role: OperatorsT) -> OperatorsT:
    """Return R_r = R_TAIL^-1 R_HEAD, RotatE's rotation of a relation (LIS Remark 4.8).

    Where values are moved too (`attend(..., move_values=True)`) the object's endpoint reads the subject's as R_r v:
    v_TAIL ~ R_r v_HEAD.
    """
    return journey(object_role, subject_role)


def attention_scores(queries: Float64, keys: Float64, target: OperatorsT, source: OperatorsT) -> Float64:
    """Return q_i^T P_{j->i} k_j, unscaled, shape (T, S), for queries (T, D) at `target` and keys (S, D) at `source`.

    It is taken as (A(i)^-T q_i)^T (A(j) k_j); the query side is A(i) q_i where A is orthogonal.
    """
    scores: Float64 = target.apply_contragredient(queries) @ source.apply(keys).T
    return scores


def attend(
    queries: Float64,
    keys: Float64,
    values: Float64,
    addresses: OperatorsT,
    *,
    is_open: npt.NDArray[np.bool_] | None = None,
    move_values: bool = False,
) -> Float64:
    """Return softmax_j(q_i^T P_{j->i} k_j / sqrt(D)) v_j, shape (T, D).

    `is_open` (T, T) says which keys j a query i sees: one at least. With `move_values` it is P_{j->i} v_j that is
    summed, which goes beyond the paper's results (Remark 4.8).
    """
    scores = attention_scores(queries, keys, addresses, addresses) / np.sqrt(addresses.width)
    if is_open is not None:
        scores = np.where(is_open, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    if not move_values:
        attended: Float64 = weights @ values
        return attended
    return addresses.inverse().apply(weights @ addresses.apply(values))
