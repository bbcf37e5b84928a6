"""What we take from NumPy's C interface is where its public header says it is."""

import re
from pathlib import Path

import numpy as np

from gnc.batch import numpy_ufunc
from tests.gnc.batch.kernels import product


def header(name):
    return (Path(np.get_include()) / "numpy" / name).read_text()


def test_the_place_of_the_gufunc_constructor_is_that_of_numpys_header():
    definition = re.search(
        r"#define PyUFunc_FromFuncAndDataAndSignature \\\n.*\n\s*PyUFunc_API\[(\d+)\]", header("__ufunc_api.h")
    )
    assert int(definition[1]) == numpy_ufunc.UFUNC_API_INDEX
    loops, names = "PyUFuncGenericFunction *, void *const *, const char *", "const char *, const char *"
    assert f"({loops}, int, int, int, int, {names}, int, const char *)" in definition[0]


def test_the_table_is_found_where_numpys_own_import_macro_looks():
    assert 'PyImport_ImportModule("numpy._core._multiarray_umath")' in header("__ufunc_api.h")
    assert '"_UFUNC_API"' in header("__ufunc_api.h")


def test_the_constants_are_those_of_numpys_headers():
    order = re.search(r"enum NPY_TYPES \{(.*?)NPY_NTYPES_LEGACY", header("ndarraytypes.h"), re.S)[1]
    names = re.findall(r"\bNPY_\w+", re.sub(r"/\*.*?\*/", "", order, flags=re.S))
    assert names.index("NPY_DOUBLE") == numpy_ufunc.NPY_DOUBLE
    assert f"#define PyUFunc_None {numpy_ufunc.PYUFUNC_NONE}" in header("ufuncobject.h")


def test_a_kernel_is_a_gufunc_of_doubles():
    product(np.ones((2, 4)), np.ones(4))
    gufunc = product._gufunc
    assert isinstance(gufunc, np.ufunc)
    assert (gufunc.signature, gufunc.types, gufunc.nin, gufunc.nout) == ("(4),(4)->(4)", ["dd->d"], 2, 1)
    assert gufunc.__name__ == "product"
