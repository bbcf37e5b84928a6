"""Attitude and pose control laws, and the allocation of their commands to actuators."""

from gnc import lazy

__getattr__, __dir__ = lazy.names(
    "gnc.controllers",
    {
        "Approach": "gnc.controllers.approach",
        "AttitudeController": "gnc.controllers.attitude",
        "AttitudeReference": "gnc.controllers.reference",
        "AttitudeRegulator": "gnc.controllers.regulator",
        "Bdot": "gnc.controllers.bdot",
        "Pointing": "gnc.controllers.pointing",
        "PoseReference": "gnc.controllers.reference",
        "PoseTracking": "gnc.controllers.pose",
        "Slew": "gnc.controllers.slew",
        "ThrusterAllocation": "gnc.controllers.thruster_allocation",
        "WheelAllocation": "gnc.controllers.wheel_allocation",
    },
)
