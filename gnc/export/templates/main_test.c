/* Fly the recorded vectors, and compare every bit of commands and beliefs; NaN is like any other NaN. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "NAME_wire.h"
#include "test_vectors.h"

static int differs(double a, double b)
{
    uint64_t bits[2];
    memcpy(&bits[0], &a, sizeof a);
    memcpy(&bits[1], &b, sizeof b);
    return bits[0] != bits[1] && (a == a || b == b);
}

int main(int argc, char *argv[])
{
    static wire_craft_t craft;
    const long flights = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    long wrong = 0;
    long errors = 0;
    const clock_t begin = clock();
    for (long flight = 0; flight < flights; ++flight) {
        wire_init(&craft);
        for (int i = 0; i < VECTORS; ++i) {
            double made[WIRE_OUTPUTS];
            errors += wire_step(&craft, given[i], ticks[i], arrivals[i], made);
            for (int k = 0; k < WIRE_OUTPUTS; ++k) {
                wrong += differs(made[k], expected[i][k]);
            }
        }
    }
    if (argc > 1) {
        const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        printf("%.2f us per step\n", 1e6 * seconds / ((double)flights * VECTORS));
    }
    printf("NAME: %d steps, %ld numbers differ, %ld errors\n", VECTORS, wrong, errors);
    return wrong != 0 || errors != 0;
}
