/* Compare every bit of the recorded vectors; NaN is like any other NaN. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "NAME.h"
#include "test_vectors.h"

static int differs(double a, double b)
{
    uint64_t bits[2];
    memcpy(&bits[0], &a, sizeof a);
    memcpy(&bits[1], &b, sizeof b);
    return bits[0] != bits[1] && (a == a || b == b);
}

int main(void)
{
    int wrong = 0;
    for (int i = 0; i < VECTORS; ++i) {
        double made[@OUTPUTS@];
        NAME(@GIVEN@);
        for (int k = 0; k < @OUTPUTS@; ++k) {
            wrong += differs(made[k], expected[i][k]);
        }
    }
    printf("NAME: %d vectors, %d numbers differ\n", VECTORS, wrong);
    return wrong != 0;
}
