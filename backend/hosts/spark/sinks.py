"""The sink: files of matched tuples, exactly once per batch id."""

from __future__ import annotations

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

STAGING = "_staging"
MISFITS = "_misfits"
#: Characters that Hadoop's file patterns give a meaning to.
GLOB_SIGNS = frozenset("*?[]{}\\")


class FileSink:
    """Files ``batch-<id>-<part>`` directly in ``path``, so that any reader takes the folder whole.

    A batch is written under ``_staging`` (readers skip names with an underscore) and moved into
    place; what an earlier attempt at the same batch left is removed first. path: local, or any
    file system Spark knows. format: 'parquet', 'json' or 'csv' (query_ids joined by blanks).
    """

    def __init__(self, session: SparkSession, path: str, format: str) -> None:
        self.path, self.format = path, format
        jvm = session._jvm
        assert jvm is not None
        self._path = jvm.org.apache.hadoop.fs.Path
        assert session._jsc is not None
        self._files = self._path(path).getFileSystem(session._jsc.hadoopConfiguration())
        self._published = False

    def stage(self, matched: DataFrame, batch_id: int) -> None:
        """Run the job that writes a batch under its staging folder."""
        if self.format == "csv":
            rest = [f"`{c}`" for c in matched.columns if c != "query_ids"]
            matched = matched.selectExpr(*rest, "array_join(query_ids, ' ') as query_ids")
        writer = matched.write.format(self.format).mode("overwrite")
        if self.format == "csv":
            writer = writer.option("header", "true")
        writer.save(f"{self.path}/{STAGING}/{batch_id}")

    def publish(self, batch_id: int, n_matched: int) -> None:
        """Move the staged files into place. The first batch is published even when it is empty."""
        staging = f"{self.path}/{STAGING}/{batch_id}"
        for old in self._listed(self.path, f"{batch_name(batch_id)}-"):
            self._files.delete(old, False)
        if n_matched or not self._published:
            for number, staged in enumerate(self._listed(staging, "part-")):
                suffix = staged.getName().partition(".")[2]
                name = f"{batch_name(batch_id)}-{number:05d}.{suffix}"
                self._files.rename(staged, self._path(f"{self.path}/{name}"))
            self._published = True
        self._files.delete(self._path(staging), True)

    def keep_aside(self, misfits: DataFrame, batch_id: int) -> None:
        """Write the raw text of tuples that do not fit as JSON lines under ``_misfits``."""
        target = f"{self.path}/{MISFITS}/{batch_name(batch_id)}"
        misfits.write.format("json").mode("overwrite").save(target)

    def close(self) -> None:
        """Remove the staging folder."""
        self._files.delete(self._path(f"{self.path}/{STAGING}"), True)

    def _listed(self, folder: str, prefix: str) -> list[JavaObject]:
        """Paths in a folder by the start of their name; Java looks, the folder may hold many."""
        escaped = "".join(f"\\{c}" if c in GLOB_SIGNS else c for c in folder)
        found = self._files.globStatus(self._path(f"{escaped}/{prefix}*")) or ()
        return [status.getPath() for status in found]


def batch_name(batch_id: int) -> str:
    return f"batch-{batch_id:08d}"
