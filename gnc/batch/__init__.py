"""One trial, or ten thousand: kernels are written for one, traced once, and run SIMD over many.

    @batched("(3,3),(3)->()")
    def kinetic_energy(J, w_B):
        return 0.5 * w_B @ J @ w_B

    kinetic_energy(J, w_B)              # w_B of shape (3,), (1000, 3), (20, 50, 3) ...
    jacobian(kinetic_energy, "w_B")     # the kernel of its exact derivative

`docs/kernels.md` tells how it works and what a kernel may do.
"""

from gnc.batch.assembly import Assembly
from gnc.batch.choice import chosen, nowhere, when
from gnc.batch.derivative import jacobian
from gnc.batch.functions import as_numbers, copysign, maximum, minimum, precise, where
from gnc.batch.kernel import JIT_OFF, Kernel, batched, python_part
from gnc.batch.sized import sized
from gnc.batch.tangent import tangent

__all__ = [
    "JIT_OFF",
    "Assembly",
    "Kernel",
    "as_numbers",
    "batched",
    "chosen",
    "copysign",
    "jacobian",
    "maximum",
    "minimum",
    "nowhere",
    "precise",
    "python_part",
    "sized",
    "tangent",
    "when",
    "where",
]
