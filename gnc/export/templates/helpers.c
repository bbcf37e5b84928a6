static bool both(bool a, bool b)
{
    return a && b;
}

static bool either(bool a, bool b)
{
    return a || b;
}

static REAL chosen(bool test, REAL yes, REAL no)
{
    return test ? yes : no;
}

static void copy(int32_t n, const REAL from[], REAL to[])
{
    for (int32_t i = 0; i < n; ++i) {
        to[i] = from[i];
    }
}

static void lose(int32_t n, REAL x[])
{
    for (int32_t i = 0; i < n; ++i) {
        x[i] = (REAL)NAN;
    }
}

static void product(int32_t rows, int32_t n, const REAL A[], int32_t down, int32_t across, const REAL x[], int32_t step,
                    REAL out[])
{
    for (int32_t i = 0; i < rows; ++i) {
        REAL sum = A[i * down] * x[0];
        for (int32_t k = 1; k < n; ++k) {
            sum += A[i * down + k * across] * x[k * step];
        }
        out[i] = sum;
    }
}
