"""Names that are imported when they are first asked for.

scikit-learn takes a second and 70 MB to import, twice that with pandas: whoever only needs the
stand-in for another package, or works for another process, should not wait for it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable


def later(
    package: str, places: dict[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package some of whose names lie in these modules of it.

    A module's own name stands for the module.
    """

    def get(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{places[name]}")
        value = module if name == places[name] else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
