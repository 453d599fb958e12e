"""Facts about entities as the RDF that Wikibase makes of them, in N-Triples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lisdata.exporters.conversion_losses import REJECTED, is_left_out
from lisdata.exporters.targets import replacing, target_paths
from lisdata.exporters.wikidata import iter_records, wikidata_options
from lisdata.exporters.wikidata_entities import EntityReader
from lisdata.exporters.wikidata_triples import EntityTriples
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.sources.wikidata_layout import DOCUMENT


@dataclass(frozen=True, slots=True)
class WikidataRdfExporter:
    """Writes texts, truthy statements, and statements with ranks, qualifiers, references and full values.

    Nodes of values, and of references without a hash, have names of their own. What RDF does not say, or says with data
    that an entity does not hold (pages, formulas), is counted among the losses.
    """

    name: str = "wikidata-rdf"
    summary: str = "Entities of Wikidata in the RDF of Wikibase (N-Triples)"
    suffix: str = ".nt"

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the triples of the entities that came from `files`; records are entities."""
        paths = target_paths(target, files, dataset.inputs, suffix=self.suffix)
        losses: Counter[str] = Counter()
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            losses[REJECTED] += info.records.get("rejected", 0)
            if is_left_out(dataset, info):
                continue
            options = wikidata_options(info)
            reader, triples = EntityReader(options), EntityTriples(options, losses)
            with replacing(path) as stream:
                for facts in iter_records(dataset, info.index, losses):
                    found = reader.read([fact for fact in facts if fact.label != DOCUMENT], losses)
                    if found is not None:
                        stream.write(triples.lines(found[0]))
                        num_records += 1
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))


WIKIDATA_RDF = WikidataRdfExporter()
