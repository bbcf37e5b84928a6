"""What every kind of law gives a flight, and a law of the user's own."""

from typing import Any, ClassVar, Literal, Protocol

from gnc.errors import InputError
from gnc.models.known import Known
from gnc.parts import OwnPart, Part
from gnc.typing import Array

Demand = Literal["torque", "wrench", "dipole"]


class Law(Protocol):
    """What turns an estimate and a reference into a demand: a torque (trials, 3), a wrench (trials, 6), a dipole."""

    def start(self, leading_shape: tuple[int, ...]) -> Any:
        """Return the memory before the first command; here there is none."""
        return ()

    def command(self, estimate: Any, reference: Any, memory: Any) -> tuple[Array, Any]:
        """Return the demand, body axes, and what to remember."""


class LawPart(Part):
    """How flight software follows a reference."""

    slot: ClassVar[str] = "law"
    demand: ClassVar[Demand] = "torque"
    guided: ClassVar[bool] = True  # whether it needs a reference

    def build(self, known: Known) -> Law:
        """Return the law."""
        raise NotImplementedError

    def refuse_reference(self, guidance: Any, asked: bool) -> None:
        """InputError if the section of a guidance is missing, or attitudes are asked for where a pose is followed."""
        if guidance is None:
            raise InputError(f"law = {self.kind_name()!r}: follows a reference; give the mode a guidance")
        poses = self.demand == "wrench"
        if not isinstance(self, OwnPart) and poses != asked:
            followed, given = ("a pose", "attitudes") if poses else ("an attitude", "poses")
            told = f"follows {followed}, and guidance = {guidance.kind_name()!r} asks for {given}"
            raise InputError(f"law = {self.kind_name()!r}: {told}; gnc parts lists others")


class OwnLaw(OwnPart, LawPart):
    """A law of your own: a class with command(estimate, reference, memory) -> (demand, memory), perhaps start(shape).

    The demand is a torque (trials, 3) or a wrench (trials, 6), body axes, or a dipole if the class says
    demand = "dipole". If it says guided = False, it needs no guidance and its reference is None. It is given J,
    sensors, actuators, sky, h, period_s, trials if its constructor asks for them by these names.
    """

    kind: Literal["own"] = "own"

    def build(self, known: Known) -> Law:
        """Return the law."""
        return self.made(**known.offered())
