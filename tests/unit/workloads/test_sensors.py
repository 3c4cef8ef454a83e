"""Readings of a laboratory's sensors, of its files or drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.hosts.spark.start.facts import source_facts
from backend.workloads.sensors import SensorsError, SensorSource, motes_of, sensor_readings
from backend.workloads.shipped import shipped_workloads
from backend.workloads.sources import open_source
from backend.workloads.spec import WorkloadError, load_workload
from dashboard.views.inputs import streams_words
from storage.tables.rows import StoredInput
from storage.vocabulary.records import Input

#: As in the laboratory's files; the last line is cut, the mote of the one before is in no place.
READINGS = """\
2004-02-28 00:59:46.02785 4 2 19.9884 37.0933 45.08 2.69964
2004-02-28 00:59:16.02785 3 1 19.4884 36.5 45.08 2.69964
2004-02-28 01:00:16.5 5 1 20.6 nothing 11.04 2.7
2004-02-28 01:00:20.5 5 15 20.6 37.2 11.04 2.7
2004-02-28 01:01:16.5 6 6485 20.6 37.2 11.04 2.7
2004-02-28 01:02:16.5 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.txt").write_text(READINGS)
    (tmp_path / "mote_locs.txt").write_text("1 21.5 23\n2 24.5 20\n15 1.2 3\n")
    return tmp_path


def test_any_slice_of_the_surrogate_has_the_same_tuples() -> None:
    source = SensorSource.of(3, {"motes": "15-27"})
    whole = source.slice(0, 70)
    parts = [source.slice(first, 7) for first in range(0, 70, 7)]
    assert [row for part in parts for row in part.to_pylist()] == whole.to_pylist()
    assert whole["mote"].to_pylist()[:14] == [*range(15, 28), 15]
    times = whole["t"].to_numpy().astype("datetime64[us]").astype(np.int64)
    assert (np.diff(times) > 0).all()
    assert times[13] - times[0] == 31_000_000


def test_where_and_when_it_is_warm_the_air_is_drier() -> None:
    table = SensorSource.of(3, {}).slice(0, 54 * 2 * 24 * 116)
    temperature, humidity = table["temperature"].to_numpy(), table["humidity"].to_numpy()
    assert np.corrcoef(temperature, humidity)[0, 1] < -0.5
    assert 10 < temperature.min() < temperature.max() < 35
    assert len(np.unique(humidity)) > 10
    assert table["light"].to_numpy().min() == 5


def test_readings_of_files_are_in_order_of_time_and_what_does_not_fit_is_kept_aside(
    folder: Path,
) -> None:
    rows = sensor_readings(folder, motes_of({"motes": "1-14"})).to_pylist()
    fitting = [row for row in rows if row["_corrupt_record"] is None]
    assert [(row["mote"], row["place"], row["temperature"]) for row in fitting] == [
        (1, 22, 19),
        (2, 24, 20),
    ]
    assert [row["humidity"] for row in fitting] == [36, 37]
    assert fitting[0]["t"] < fitting[1]["t"]
    misfits = [row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None]
    assert len(misfits) == 3
    assert any(text.startswith("2004-02-28 01:01:16.5 6 6485 20.6") for text in misfits)
    assert any("nothing" in text for text in misfits)
    assert "2004-02-28 01:02:16.5 7" in misfits
    others = sensor_readings(folder, motes_of({"motes": "15-27"})).to_pylist()
    assert [row["mote"] for row in others] == [15]


@pytest.mark.parametrize("motes", ["0-3", "5", "9-2", "50-55", "a-b"])
def test_motes_that_cannot_be_are_refused(motes: str) -> None:
    with pytest.raises(SensorsError, match=f"1 to 54, as in 1-14, not {motes}"):
        motes_of({"motes": motes})


def test_a_folder_without_the_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SensorsError, match=r"there is no data.txt in .*folder with both"):
        sensor_readings(tmp_path, motes_of({}))
    workload = tmp_path / "w.toml"
    workload.write_text('[streams.S]\nsource = { format = "sensors", path = "nowhere" }\n')
    with pytest.raises(WorkloadError, match=r"path: there is no file .*nowhere"):
        load_workload(workload)


def test_a_workload_reads_the_files_beside_it_and_the_surrogate_is_called_so(folder: Path) -> None:
    text = '[streams.S]\nsource = {{ format = "sensors"{path} }}\ntimestamp = "t"\n'
    facts = {}
    for name, path in (("drawn", ""), ("given", ', path = "."')):
        workload = folder / f"{name}.toml"
        workload.write_text(text.format(path=path))
        stream = load_workload(workload).streams[0]
        source = open_source(stream, folder)
        assert source is not None
        assert (source.n_tuples == 6) == (name == "given")
        facts[name] = source_facts(stream)
    inputs = [StoredInput(Input(name, [], facts[name]), "open", "") for name in facts]
    assert streams_words(inputs) == "surrogate data: drawn; given"


def test_the_demo_has_four_sides() -> None:
    streams = load_workload(shipped_workloads()["sensors"]).streams
    sources = [open_source(stream, Path()) for stream in streams]
    motes = [set(source.slice(0, 60)["mote"].to_pylist()) for source in sources if source]
    assert [len(own) for own in motes] == [14, 13, 14, 13]
    assert set.union(*motes) == set(range(1, 55))
