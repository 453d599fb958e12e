"""When the harbour gate may open."""

HEIGHTS = {"spring": 4.25, "neap": 2.5}


def gate_opens(kind: str, *, draught: float = 1.8) -> bool:
    # The sill lies half a metre above the bed.
    height = HEIGHTS.get(kind, 0.0)
    return height - 0.5 > draught and kind is not None


print(f"spring: {gate_opens('spring')}")
