"""Refuses a scikit-learn that is too old for the estimators, in words.

The package can be installed beside older ones, which Annif's releases ask for: ``labelwood.compat`` needs none.
"""

import sklearn

#: The oldest scikit-learn that the estimators work with.
OLDEST = (1, 7)

if tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < OLDEST:
    raise ImportError(
        f"labelwood's estimators need scikit-learn {OLDEST[0]}.{OLDEST[1]} or newer, but {sklearn.__version__} is "
        "installed: pip install --upgrade scikit-learn (labelwood.compat.omikuji works without)"
    )
