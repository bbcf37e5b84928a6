"""Between body rates, which users think in, and the momentum that the integrators carry."""

from gnc.batch import batched
from gnc.linalg import block, solve3


@batched("(3),(3,3),(3)->(3)")
def to_momentum(w_B, J, rho_B):
    """Return P_B = J w_B + rho_B."""
    return J @ w_B + rho_B


@batched("(3),(3,3),(3)->(3)")
def to_rate(P_B, J, rho_B):
    """Return w_B = J^-1 (P_B - rho_B)."""
    return solve3(J, P_B - rho_B)


@batched("(3),(3),()->(3)")
def kick(P_B, tau_B, h):
    """Return the momentum after half a step under a torque."""
    return P_B + (0.5 * h) * tau_B


@batched("(6,6),(6,3),(3,3)->(6,6),(6,3)")
def to_rate_error(F, G, J):
    """Return F and G in the error state (a, dw) from those in (a, dP), dP = J dw."""
    bottom = solve3(J, F[3:])
    F_w = block([[F[:3, :3], F[:3, 3:] @ J], [bottom[:, :3], bottom[:, 3:] @ J]])
    return F_w, block([[G[:3]], [solve3(J, G[3:])]])


@batched("(3),(3,3)->()")
def kinetic_energy(w_B, J):
    """Return w . J w / 2."""
    return 0.5 * (w_B @ (J @ w_B))
