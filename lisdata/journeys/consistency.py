"""Journey rules and addresses (LIS Definition 4.3, Theorem 4.4): a rule is consistent exactly when it has addresses."""

from __future__ import annotations

import numpy as np

from lisdata.journeys.arrays import TOLERANCE, Float64, largest_distance


def rule_of_addresses(addresses: Float64) -> Float64:
    """Return the rule P_{j->i} = A(i)^-1 A(j), indexed [i, j], shape (T, T, D, D), of addresses (T, D, D) in GL(D)."""
    rule: Float64 = np.linalg.inv(addresses)[:, None] @ addresses[None, :]
    return rule


def inconsistency(rule: Float64) -> float:
    """Return how far a rule P (T, T, D, D), [i, j] = P_{j->i}, is from consistent, as a Frobenius distance.

    Consistent means P_{i->i} = I and P_{j->i} P_{k->j} = P_{k->i} for all i, j, k (Definition 4.3).
    """
    loops = np.einsum("iixy->ixy", rule)
    composed = rule[:, :, None] @ rule[None, :, :]  # [i, j, k]
    identity = np.eye(rule.shape[-1])
    return max(largest_distance(loops, identity), largest_distance(composed, rule[:, None, :]))


def addresses_of_rule(rule: Float64, *, origin: int = 0, tolerance: float = TOLERANCE) -> Float64:
    """Return addresses (T, D, D) with P_{j->i} = A(i)^-1 A(j): A(i) := P_{i->o} for the index o = `origin`.

    Theorem 4.4: for a consistent rule they exist, since A(i)^-1 A(j) = P_{o->i} P_{j->o} = P_{j->i}. Another origin
    gives the same up to a gauge. Raise ValueError for a rule that is not consistent: it has no addresses.
    """
    distance = inconsistency(rule)
    if distance > tolerance:
        raise ValueError(f"expected a consistent rule, got one that is off by {distance:.3g}")
    addresses: Float64 = rule[origin]
    return addresses


def find_gauge(addresses: Float64, others: Float64, *, tolerance: float = TOLERANCE) -> Float64:
    """Return g (D, D) with A'(i) = g A(i) for all i: what addresses of one rule may differ by (Theorem 4.4).

    Equal journeys A(i)^-1 A(j) = A'(i)^-1 A'(j) mean that A'(i) A(i)^-1 is the same for all i. Raise ValueError where
    it is not: the two make different journeys.
    """
    gauges = others @ np.linalg.inv(addresses)
    distance = largest_distance(gauges, gauges[0])
    if distance > tolerance:
        raise ValueError(f"expected addresses of one rule, got gauges that differ by {distance:.3g}")
    gauge: Float64 = gauges[0]
    return gauge
