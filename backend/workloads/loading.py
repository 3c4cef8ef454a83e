"""The functions of a workload: the built-in ones and those of the modules it names."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from backend.model.functions import Functions
from backend.workloads import library
from backend.workloads.functions import FunctionError, functions_of


def built_in() -> Functions:
    """The functions every workload has."""
    return functions_of(library)


def load_functions(named: Iterable[str], beside: Path) -> Functions:
    """The built-in functions and those of the modules a workload names.

    named: dotted module names, or paths ending in .py, relative to the file ``beside``.
    Raises FunctionError with what went wrong while importing them.
    """
    functions = built_in()
    for module in named:
        more = functions_of(_imported(module, beside))
        both = {name.lower() for name in functions.functions} & {n.lower() for n in more.functions}
        if both:
            message = f"{module} registers {min(both)!r}, which is registered already; rename it"
            raise FunctionError(message)
        functions = Functions(
            {**functions.functions, **more.functions}, {**functions.tables, **more.tables}
        )
    return functions


def _imported(named: str, beside: Path) -> ModuleType:
    try:
        if not named.endswith(".py"):
            return importlib.import_module(named)
        path = (beside.parent / Path(named).expanduser()).absolute()
        if not path.is_file():
            raise FunctionError(f"there is no file {path}")
        digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
        name = f"planwatch_functions_{path.stem}_{digest}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    except FunctionError:
        raise
    except Exception as error:
        message = f"{named} cannot be imported: {type(error).__name__}: {error}"
        raise FunctionError(message) from error
