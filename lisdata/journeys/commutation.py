"""When a comparison inside an instance ignores the instance (LIS Proposition 4.9).

Role operators are (S, D, D), instance operators (E, D, D), both in GL(D); Q_{s,e} = R_s R_e.
"""

from __future__ import annotations

import numpy as np

from lisdata.journeys.arrays import Float64, largest_distance


def forward_changes(roles: Float64, instances: Float64) -> Float64:
    """Return Q_{t,e} Q_{s,e}^-1, indexed [s, t, e]: R_t R_s^-1 whatever e is, by cancellation."""
    addresses = roles[:, None] @ instances
    changes: Float64 = addresses[None] @ np.linalg.inv(addresses)[:, None]
    return changes


def reversed_changes(roles: Float64, instances: Float64) -> Float64:
    """Return Q_{s,e}^-1 Q_{t,e} = R_e^-1 R_s^-1 R_t R_e, indexed [s, t, e]: attention's journey (t, e) -> (s, e)."""
    addresses = roles[:, None] @ instances
    changes: Float64 = np.linalg.inv(addresses)[:, None] @ addresses[None]
    return changes


def instance_dependence(changes: Float64) -> float:
    """Return the largest Frobenius distance of changes (S, S, E, D, D) between two instances."""
    return largest_distance(changes[:, :, :, None], changes[:, :, None, :])


def commutator_size(roles: Float64, instances: Float64) -> float:
    """Return the largest Frobenius norm of [R_e' R_e^-1, R_s^-1 R_t] over roles s, t and instances e, e'.

    Proposition 4.9: it is 0 exactly when `reversed_changes` are the same for all instances, for with X = R_s^-1 R_t

        R_e' (R_e^-1 X R_e - R_e'^-1 X R_e') R_e^-1 = [R_e' R_e^-1, X].

    For orthogonal operators the two therefore measure the same: it equals their `instance_dependence`.
    """
    between_roles = (np.linalg.inv(roles)[:, None] @ roles[None])[:, :, None, None]
    between_instances = instances[:, None] @ np.linalg.inv(instances)[None]
    return largest_distance(between_instances @ between_roles, between_roles @ between_instances)
