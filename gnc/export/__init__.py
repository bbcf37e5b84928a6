"""Flight code: kernels and recorded software as C99, with the bits of Python."""

from gnc.export.component import Component
from gnc.export.component_files import export_component
from gnc.export.kernel_files import export_kernel
from gnc.export.software import Software

__all__ = ["Component", "Software", "export_component", "export_kernel"]
