"""The environment: when it counts as ready, what makes it again, and what failures say."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backend.launch import environment as module
from backend.launch.environment import RUN, Environment, SetupFailed, explain_pip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder that needs no package at all, with its environment made for real."""
    folder = tmp_path_factory.mktemp("project")
    (folder / RUN).write_text("# nothing\n")
    Environment(folder).ensure(RUN)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The same folder before its environment is made."""
    (tmp_path / RUN).write_text("# nothing\n")
    return tmp_path


@pytest.fixture
def made(template: Path, tmp_path: Path) -> Environment:
    """A copy of the folder and its environment."""
    return Environment(Path(shutil.copytree(template, tmp_path / "copy", symlinks=True)))


def test_it_is_made_once(made: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    assert made.is_ready(RUN)
    capsys.readouterr()
    stamp = made.folder / f"installed-{RUN}"
    before = stamp.stat().st_mtime_ns
    made.ensure(RUN)
    assert capsys.readouterr().out == ""
    assert stamp.stat().st_mtime_ns == before


def test_other_pins_ask_for_it_again(made: Environment) -> None:
    (made.root / RUN).write_text("# still nothing\n")
    assert not made.is_ready(RUN)
    kept = made.folder / "kept"
    kept.write_text("")
    made.ensure(RUN)
    assert made.is_ready(RUN)
    assert kept.exists(), "an environment that works is added to, not made from nothing"


def test_one_whose_python_is_gone_is_made_from_nothing(made: Environment) -> None:
    made.python.unlink()
    made.python.symlink_to("/nowhere/python3")
    assert not made.is_ready(RUN)
    made.ensure(RUN)
    assert made.is_ready(RUN)
    answer = subprocess.run([made.python, "-c", "import pip"], check=False)
    assert answer.returncode == 0


def test_this_process_is_not_in_it(made: Environment) -> None:
    assert not made.is_current
    code = "import sys; from pathlib import Path; "
    code += "from backend.launch.environment import Environment; "
    code += "print(Environment(Path(sys.argv[1])).is_current)"
    answer = subprocess.run(
        [made.python, "-c", code, str(made.root)],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == "True"


def test_a_full_disk_is_noticed_before(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NEEDED_BYTES", 1 << 62)
    with pytest.raises(SetupFailed, match="nearly full"):
        Environment(root).ensure(RUN)
    assert not (root / ".venv").exists()


def test_a_python_without_ensurepip(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    with pytest.raises(SetupFailed, match=f"apt-get install python{minor}-venv"):
        Environment(root).ensure(RUN)


def test_no_network_is_one_sentence(made: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against an index that does not answer: a closed port of this machine."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    (made.root / RUN).write_text(f"absent==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SetupFailed, match="no network"):
        made.ensure(RUN)
    assert not made.is_ready(RUN)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "pip cache purge"),
        ("WARNING: Retrying after connection broken by 'NewConnectionError'", "no network"),
        ("noise\nERROR: Could not find a version of x\n", "Could not find a version of x"),
        ("", "doctor"),
    ],
)
def test_pip_is_explained(output: str, expected: str) -> None:
    assert expected in explain_pip(output)
