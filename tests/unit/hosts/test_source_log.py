"""What Spark notes of files it has taken is shortened by those that are gone, and by no others."""

from __future__ import annotations

import json
from pathlib import Path

from backend.hosts.spark.run.source_log import forget_gone


def note(path: str, batch: int) -> str:
    return json.dumps({"path": f"file://{path}", "timestamp": 1, "batchId": batch})


def written(folder: Path, newest: int, *notes: str) -> Path:
    """Notes as Spark writes them, with Hadoop's checksum beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{newest}.compact"
    path.write_text("\n".join(["v1", *notes]))
    (folder / f".{path.name}.crc").write_bytes(b"crc")
    return path


def test_notes_of_files_that_are_gone_go(tmp_path: Path) -> None:
    """Not those of files that are there, of the newest batches, or of folders of other people."""
    spool, checkpoint = tmp_path / "a spool", tmp_path / "checkpoint"
    spool.mkdir()
    (spool / "there.ipc").touch()
    (spool / "commits").mkdir()
    path = str(spool).replace(" ", "%20")
    kept = [note(f"{path}/there.ipc", 3), note(f"{path}/new.ipc", 29), note("/data/a%20b.csv", 2)]
    gone = [note(f"{path}/{n}.ipc", n) for n in range(20)]
    older = written(checkpoint / "sources" / "0", 9, *gone[:10])
    newest = written(checkpoint / "sources" / "0", 29, *gone, *kept)
    other = written(checkpoint / "sources" / "1", 9, kept[2])
    forget_gone(checkpoint, spool)
    assert newest.read_text().splitlines() == ["v1", *kept]
    assert len(older.read_text().splitlines()) == 11
    assert other.read_text().splitlines() == ["v1", kept[2]]
    crcs = sorted(path.name for path in checkpoint.rglob("*.crc"))
    assert crcs == [".9.compact.crc", ".9.compact.crc"]
    forget_gone(checkpoint, spool)
    assert newest.read_text().splitlines() == ["v1", *kept]


def test_before_spark_has_noted_anything_there_is_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "checkpoint" / "sources" / "0").mkdir(parents=True)
    forget_gone(tmp_path / "checkpoint", tmp_path / "spool")
    forget_gone(tmp_path / "nowhere", tmp_path / "spool")
