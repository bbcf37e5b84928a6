"""Things with mass, wires or noise: bodies, multibody trees, environment, sensors and actuators."""

from gnc import lazy

__getattr__, __dir__ = lazy.names(
    "gnc.models",
    {
        "AttitudeState": "gnc.models.states",
        "ContactBody": "gnc.models.contact_body",
        "Gyrostat": "gnc.models.rigid_body",
        "PoseBody": "gnc.models.pose_body",
        "PoseState": "gnc.models.pose_body",
        "RigidBody": "gnc.models.rigid_body",
    },
)
