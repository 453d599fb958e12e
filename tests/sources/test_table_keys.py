"""Keys of several tables in one Data Package: each row has one key, whoever refers to it and in whatever order."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from lisdata.conversion import convert
from lisdata.shards import IncidenceDataset


def resource(name: str, columns: str, primary: list[str], keys: list[tuple[list[str], str, list[str]]]) -> object:
    foreign = [{"fields": own, "reference": {"resource": table, "fields": theirs}} for own, table, theirs in keys]
    fields = [{"name": column} for column in columns.split()]
    return {
        "name": name,
        "path": f"{name}.csv",
        "schema": {"fields": fields, "primaryKey": primary, "foreignKeys": foreign},
    }


def test_a_folder_of_files_meets_in_its_keys_in_one_command(tmp_path: Path) -> None:
    resources = [
        resource("part", "maker number code", ["maker", "number"], []),
        resource(
            "use",
            "n m id code boss",
            ["id"],
            [
                (["n", "m"], "part", ["number", "maker"]),
                (["code"], "part", ["code"]),
                (["boss"], "", ["id"]),
                (["m"], "nowhere", ["x"]),
            ],
        ),
    ]
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "datapackage.json").write_text(json.dumps({"resources": resources}))
    (folder / "part.csv").write_text("maker,number,code\nacme,1,A\nacme,2,B\n")
    (folder / "use.csv").write_text("n,m,id,code,boss\n1,acme,7,A,\n9,acme,8,Z,7\n")

    convert("csv", folder, tmp_path / "data", options={"schema": str(tmp_path / "datapackage.json")})

    shown = Counter(
        (s.occurrences[i.occurrence].content.scope, s.occurrences[i.occurrence].content.text, i.role.label)
        for s in IncidenceDataset(tmp_path / "data").iter_structures()
        for i in s.incidences
        if s.occurrences[i.occurrence].content.scope
    )
    assert shown == Counter(
        [
            ("table:part.maker+number", '["acme","1"]', "part#key:maker+number"),
            ("table:part.maker+number", '["acme","2"]', "part#key:maker+number"),
            ("table:part.maker+number", '["acme","1"]', "use#key:m+n"),
            ("table:part.maker+number", '["acme","9"]', "use#key:m+n"),
            ("table:part.code", "A", "part#code"),
            ("table:part.code", "B", "part#code"),
            ("table:part.code", "A", "use#code"),
            ("table:part.code", "Z", "use#code"),
            ("table:use.id", "7", "use#id"),
            ("table:use.id", "8", "use#id"),
            ("table:use.id", "7", "use#boss"),
            ("table:nowhere.x", "acme", "use#m"),
            ("table:nowhere.x", "acme", "use#m"),
        ]
    )
