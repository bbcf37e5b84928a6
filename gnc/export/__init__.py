"""Flight code: kernels and recorded software as C99, with the bits of Python."""

from gnc.export.kernel_files import export_kernel
from gnc.export.software import Software
from gnc.export.software_files import export_software

__all__ = ["Software", "export_kernel", "export_software"]
