"""Addresses and journeys (LIS section 4) in NumPy float64: the reference that models and their tests are held to.

An endpoint's index (position p, role s, instance e) becomes an operator, its address A(i) = R_pos^p R_s R_e, and
attention compares endpoints by the journey P_{j->i} = A(i)^-1 A(j):

* `endpoints`: what the address of each endpoint of a structure is made of;
* `patches`: a grid's endpoints by patches of cells;
* `rotations`, `blocks`: operators that commute, kept as angles, and those that need not;
* `assignments`: from indices to operators: RoPE and its kin, roles and instances, content, learned identifiers;
* `scores`: journeys, attention scores, attention;
* `consistency`, `factorisation`, `commutation`, `serialization`, `bounds`: the paper's theorems as functions.

>>> import numpy as np
>>> rope = rope_addresses(np.array([0, 1, 5]), rotary_frequencies(4))
>>> pairwise_journeys(rope).angles[0, 2]  # from position 5 to position 0: R^5
array([5.  , 0.05])
"""

from lisdata.journeys.assignments import (
    LearnedIdentifiers,
    RoleInstanceAssignment,
    axial_addresses,
    content_operators,
    hirope_addresses,
    pool_instances,
    rope_2d_addresses,
    rope_addresses,
    rotary_frequencies,
)
from lisdata.journeys.blocks import Blocks, draw_orthogonal
from lisdata.journeys.bounds import (
    angles_reaching,
    content_modulus,
    offset_modulus,
    operator_modulus,
    operator_reaching,
    rotation_modulus,
    score_limit,
)
from lisdata.journeys.commutation import commutator_size, forward_changes, instance_dependence, reversed_changes
from lisdata.journeys.consistency import addresses_of_rule, find_gauge, inconsistency, rule_of_addresses
from lisdata.journeys.endpoints import StructureAddresses, addresses
from lisdata.journeys.factorisation import coordinate_dependence, factorise, multiply_factors
from lisdata.journeys.patches import GridEndpoints, grid_endpoints
from lisdata.journeys.rotations import Rotations
from lisdata.journeys.scores import attend, attention_scores, journey, pairwise_journeys, relation_rotation
from lisdata.journeys.serialization import (
    OffsetCounterexample,
    find_offset_counterexample,
    pack_instances,
    serialized_starts,
)

__all__ = [
    "Blocks",
    "GridEndpoints",
    "LearnedIdentifiers",
    "OffsetCounterexample",
    "RoleInstanceAssignment",
    "Rotations",
    "StructureAddresses",
    "addresses",
    "addresses_of_rule",
    "angles_reaching",
    "attend",
    "attention_scores",
    "axial_addresses",
    "commutator_size",
    "content_modulus",
    "content_operators",
    "coordinate_dependence",
    "draw_orthogonal",
    "factorise",
    "find_gauge",
    "find_offset_counterexample",
    "forward_changes",
    "grid_endpoints",
    "hirope_addresses",
    "inconsistency",
    "instance_dependence",
    "journey",
    "multiply_factors",
    "offset_modulus",
    "operator_modulus",
    "operator_reaching",
    "pack_instances",
    "pairwise_journeys",
    "pool_instances",
    "relation_rotation",
    "reversed_changes",
    "rope_2d_addresses",
    "rope_addresses",
    "rotary_frequencies",
    "rotation_modulus",
    "rule_of_addresses",
    "score_limit",
    "serialized_starts",
]
