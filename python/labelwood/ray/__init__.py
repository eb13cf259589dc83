"""Training, prediction and the choice of settings on a Ray cluster: ``pip install labelwood[ray]``.

:func:`fit` shares a training among the cluster's workers and gives byte for byte the model of
``estimator.fit``. :func:`predict` asks a saved model for many rows, :func:`tune` compares settings,
and :class:`Predictor` is for ``ray.data.Dataset.map_batches``. Every machine needs the same version of
labelwood. Workers and machines may be lost at any time: their work is given to others.
"""

from typing import TYPE_CHECKING

from .._later import later

try:
    import ray as _  # noqa: F401
except ImportError as error:
    raise ImportError("labelwood.ray needs Ray: pip install 'labelwood[ray]'") from error

if TYPE_CHECKING:
    from ._fit import fit
    from ._predict import predict
    from ._predictor import Predictor
    from ._tune import tune

# Workers import this package, too, for what is in `_work` alone.
__getattr__, __dir__ = later(
    __name__,
    {"Predictor": "_predictor", "fit": "_fit", "predict": "_predict", "tune": "_tune"},
)

__all__ = ["Predictor", "fit", "predict", "tune"]
