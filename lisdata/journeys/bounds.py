"""How far a score can move with the address (LIS appendix B).

Queries and keys are vectors (D,); a journey of rotations turns pair b by an angle a_b, and q_b, k_b are the pairs.
"""

from __future__ import annotations

import numpy as np

from lisdata.journeys.arrays import Float64, pairs_of


def operator_modulus(query: Float64, key: Float64, first: Float64, second: Float64) -> float:
    """Return |q| |k| |P - P'|_2, which bounds |q^T (P - P') k| for any journeys P, P' (D, D)."""
    return float(np.linalg.norm(first - second, 2)) * score_limit(query, key)


def rotation_modulus(query: Float64, key: Float64, change: Float64) -> float:
    """Return |q| |k| max_b 2 |sin(c_b / 2)|, which bounds |q^T (P - P') k| for rotations whose angles differ by c.

    This is the continuity of content-derived addresses: the score moves no more than phi's angles do, c = phi(x) -
    phi(x'), since 2 |sin(c / 2)| <= |c|.
    """
    return score_limit(query, key) * float(np.max(2 * np.abs(np.sin(change / 2)), initial=0.0))


def content_modulus(query: Float64, key: Float64, lipschitz: float, distance: float) -> float:
    """Return |q| |k| min(2, L d): how far a score moves when a content moves by d = |x - x'|.

    L is the Lipschitz constant of phi from contents in the Euclidean norm to angles in the largest-entry norm; for
    phi(x) = W x + b it is the largest norm of a row of W.
    """
    return score_limit(query, key) * min(2.0, lipschitz * distance)


def offset_modulus(query: Float64, key: Float64, frequencies: Float64, shift: float) -> float:
    """Return sum_b |q_b| |k_b| 2 |sin(d w_b / 2)|: the most by which moving an offset by d = `shift` moves a score.

    It is what a serialization that shifts a RoPE offset does to a fixed query and key, and it is reached: for some q
    and k of these pairs' lengths, the score moves by that much.
    """
    return float(pair_products(query, key) @ (2 * np.abs(np.sin(shift * frequencies / 2))))


def score_limit(query: Float64, key: Float64) -> float:
    """Return |q| |k|: the scores that some orthogonal P gives are all those of [-|q| |k|, |q| |k|].

    So an unseen label with a free operator leaves its score undetermined: of two tables that agree on every label in
    training, one can be wrong by 2 |q| |k| where the other is right, and no guess is off by less than |q| |k| at worst.
    """
    return float(np.linalg.norm(query) * np.linalg.norm(key))


def pair_products(query: Float64, key: Float64) -> Float64:
    """Return |q_b| |k_b| of each pair b, (D/2,): their sum is the limit of what free angles can reach."""
    products: Float64 = np.linalg.norm(pairs_of(query), axis=-1) * np.linalg.norm(pairs_of(key), axis=-1)
    return products


def operator_reaching(query: Float64, key: Float64, score: float) -> Float64:
    """Return an orthogonal P (D, D) with q^T P k = `score`, for D >= 2.

    A new label with the operator A(i) P, seen from the address A(i), has this score. Raise ValueError where |score|
    exceeds |q| |k|.
    """
    limit = score_limit(query, key)
    if len(query) < 2 or abs(score) > limit:
        raise ValueError(f"no orthogonal operator of width {len(query)} gives {score}: the limit is {limit}")
    if limit == 0:
        return np.eye(len(query))
    q, k = query / np.linalg.norm(query), key / np.linalg.norm(key)
    aside = np.eye(len(q))[np.argmin(np.abs(q))]
    aside = aside - (aside @ q) * q
    cosine = np.clip(score / limit, -1, 1)
    wanted = cosine * q + np.sqrt(1 - cosine**2) * aside / np.linalg.norm(aside)
    # A reflection takes k to `wanted`; the mirror of the two that is far from degenerate keeps rounding small.
    sign = -1.0 if k @ wanted > 0 else 1.0
    mirror = k - sign * wanted
    reaching: Float64 = sign * (np.eye(len(q)) - 2 * np.outer(mirror, mirror) / (mirror @ mirror))
    return reaching


def angles_reaching(query: Float64, key: Float64, score: float) -> Float64:
    """Return angles (D/2,) of a rotation P of pairs with q^T P k = `score`: free angles leave a label as undetermined.

    Raise ValueError where |score| exceeds the sum of |q_b| |k_b|.
    """
    limit = float(pair_products(query, key).sum())
    if abs(score) > limit:
        raise ValueError(f"no rotation of pairs gives {score}: the limit is {limit}")
    q, k = pairs_of(query) @ np.array([1, 1j]), pairs_of(key) @ np.array([1, 1j])
    cosine = np.clip(score / limit, -1, 1) if limit else 1.0
    angles: Float64 = np.angle(q * np.conj(k)) + np.arccos(cosine)
    return angles
