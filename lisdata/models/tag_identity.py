"""An injection of hexatags that begins without any effect, so that a trained model can be given one."""

import torch
from torch import nn

from lisdata.models.sipe_tags import InputFusion, TagProjection, TagTables


def begin_at_identity(model: nn.Module) -> None:
    """Set what an injection added to a model so that its logits are those of the model without, whatever the tags.

    Projections of tags are 0. In the input, the tables are 0 where tag vectors are added, [I, 0, 0] is the matrix of
    "concat", and 1 the number of "alpha". Each of these has a gradient other than 0 in the first step, so all of the
    injection learns (projections beside tables of 0 from the second on).
    """
    with torch.no_grad():
        fusions = [module for module in model.modules() if isinstance(module, InputFusion)]
        for fusion in fusions:
            if fusion.projection is not None:
                width = len(fusion.projection.weight)
                nn.init.zeros_(fusion.projection.weight)
                fusion.projection.weight[:, :width].fill_diagonal_(1.0)
            if fusion.alpha is not None:
                fusion.alpha.fill_(1.0)
        is_added = any(fusion.fusion in ("add", "residual") for fusion in fusions)
        for module in model.modules():
            if isinstance(module, TagProjection) or (is_added and isinstance(module, TagTables)):
                for parameter in module.parameters():
                    nn.init.zeros_(parameter)
