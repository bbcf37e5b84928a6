"""Filters that turn measurements into a belief, and the bounds and consistency tests that judge them."""

from gnc import lazy

__getattr__, __dir__ = lazy.names(
    "gnc.estimators",
    {
        "DqEkf": "gnc.estimators.dqekf",
        "GyroMekf": "gnc.estimators.gyro_mekf",
        "Mekf": "gnc.estimators.mekf",
        "StandardMekf": "gnc.estimators.standard_mekf",
        "TwistEkf": "gnc.estimators.twist_ekf",
        "Usque": "gnc.estimators.usque",
    },
)
