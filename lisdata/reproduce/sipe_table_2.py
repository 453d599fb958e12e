"""SiPE Table 2: a decoder without tags beside decoders that are given hexatags, with the controls that the paper lacks.

The paper's decoders are given the tags of a parse of the whole sentence, which tells of words to come. Here are also
models that learn to predict tags and are given none, that are given shuffled ones, the tags of an incremental parser
(of what was read), one half of the tags, or one bit of them, and a larger model without tags; and every model is
measured under tags that a reader could know. `lisdata.reproduce.sipe_settings` lists the variants.
"""

from __future__ import annotations

from lisdata.reproduce.sipe_decoders import DecoderStudy
from lisdata.reproduce.sipe_report import write_table
from lisdata.reproduce.sipe_settings import SCALES, VARIANTS

STUDY = DecoderStudy(name="sipe-table-2", variants=VARIANTS, scales=SCALES, report=write_table)
EXPERIMENT = STUDY.experiment()
