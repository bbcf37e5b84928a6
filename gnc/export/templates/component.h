/* NAME: flight software of @TITLE@.
 * Written by gnc @VERSION@; configuration @HASH@. INTERFACE.md tells how to use it, SIZES.md what it takes.
 * Times are ticks of NAME_TICK_S seconds. Matrices are row by row. Quaternions are scalar first. Tests are 1 or 0. */
#ifndef NAME_H
#define NAME_H

#include <stdint.h>

#define NAME_VERSION "@VERSION@"
#define NAME_HASH "@HASH@"
#define NAME_TICK_S @TICK@
#define NAME_DELAY @DELAY@ /* ticks by which the belief lags, so that late measurements find their own time */
#define NAME_MARKS @MARKS@ /* ticks at which something was new that wait at most */

/* What arrives with a step. */
@ARRIVALS@

enum { NAME_DONE = 0, NAME_NO_INTERVAL, NAME_NO_VARIANT, NAME_BACKWARDS, NAME_TOO_LATE }; /* what a step returns */

typedef @REAL@ NAME_real_t;

@STRUCTS@
/* A tick at which something was new. */
typedef struct {
    int64_t tick;
    uint32_t arrived;
    NAME_inputs_t inputs;
    NAME_command_t command; /* from there on */
} NAME_mark_t;

/* All that changes. */
typedef struct {
    NAME_belief_t belief; /* at the first mark */
    NAME_command_t command;
    NAME_memory_t memory;
    NAME_innovations_t innovations;
    int32_t used; /* marks */
    NAME_mark_t marks[NAME_MARKS];
} NAME_state_t;

/* The parameters that were qualified. */
extern const NAME_parameters_t NAME_parameters;

/* Begin as the flight of the test vectors began, at tick 0. */
void NAME_init(NAME_state_t *state);

/* Do what is due at a tick: navigate with what has arrived, and command if NAME_COMMAND is among it. */
int32_t NAME_step(const NAME_parameters_t *parameters, NAME_state_t *state, const NAME_inputs_t *inputs, int64_t tick,
                  uint32_t arrived);

#endif
