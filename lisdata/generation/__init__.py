"""Generation: models that go on with a text, from what they keep of it, under hexatags that a text so far can have."""

from lisdata.generation.generating import Drawn, Session, draw_tokens
from lisdata.generation.sampling import Sampler, Sampling

__all__ = ["Drawn", "Sampler", "Sampling", "Session", "draw_tokens"]
