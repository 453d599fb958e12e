"""What `import lisdata` gives: every public name, and nothing heavy until one is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import lisdata


@pytest.mark.parametrize("name", [name for name in lisdata.__all__ if name != "__version__"])
def test_a_public_name_can_be_called_and_is_listed(name: str) -> None:
    assert callable(getattr(lisdata, name))
    assert name in dir(lisdata)


def test_functions_for_other_libraries_and_what_trains_nothing_load_none_of_them() -> None:
    program = (
        "import sys, lisdata\n"
        "names = ['from_rdflib', 'to_rdflib', 'from_pyoxigraph', 'to_pyoxigraph', 'structures_from_networkx',\n"
        "    'networkx_from_structures', 'structures_from_hif', 'structures_from_xgi', 'structures_from_hypernetx',\n"
        "    'audit', 'regroup', 'deduplicate', 'filter_dataset', 'merge', 'reshard', 'sample', 'split']\n"
        "import lisdata.loader.shuffle_report\n"
        "[getattr(lisdata, name) for name in names]\n"
        "print(*{'rdflib', 'pyoxigraph', 'networkx', 'xgi', 'hypernetx', 'torch', 'pandas'} & sys.modules.keys())\n"
    )

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "\n"
