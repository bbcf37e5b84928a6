/* Carry the belief from one mark to the next. */
static int32_t NAME_predict(const NAME_parameters_t *parameters, const NAME_mark_t *from, const NAME_mark_t *to,
                            NAME_belief_t *belief)
{
    switch (to->tick - from->tick) {
@PREDICT@
    default:
        return NAME_NO_INTERVAL;
    }
}

/* Correct the belief with what was measured at the first mark, once. */
static int32_t NAME_correct(const NAME_parameters_t *parameters, NAME_state_t *state)
{
    NAME_mark_t *const mark = &state->marks[0];
    int32_t error = NAME_DONE;
@UPDATE@
    mark->arrived = 0;
    return error;
}

/* Bring the belief up to a tick: through all marks, with the measurements taken there. */
static int32_t NAME_navigate(const NAME_parameters_t *parameters, NAME_state_t *state, int64_t horizon)
{
    int32_t error = NAME_correct(parameters, state);
    while (error == NAME_DONE && state->used > 1 && state->marks[1].tick <= horizon) {
        error = NAME_predict(parameters, &state->marks[0], &state->marks[1], &state->belief);
        for (int32_t i = 1; i < state->used; ++i) {
            state->marks[i - 1] = state->marks[i];
        }
        --state->used;
        if (error == NAME_DONE) {
            error = NAME_correct(parameters, state);
        }
    }
    return error;
}

/* Remember that something is new at this tick. */
static int32_t NAME_note(NAME_state_t *state, const NAME_inputs_t *inputs, int64_t tick, uint32_t arrived)
{
    NAME_mark_t *last = &state->marks[state->used - 1];
    if (tick > last->tick) {
        if (state->used == NAME_MARKS) {
            return NAME_TOO_LATE;
        }
        state->marks[state->used] = *last;
        last = &state->marks[state->used];
        ++state->used;
    } else if (tick < last->tick || last->arrived != 0) {
        return NAME_BACKWARDS;
    }
    last->tick = tick;
    last->arrived = arrived;
    last->inputs = *inputs;
    return NAME_DONE;
}

int32_t NAME_step(const NAME_parameters_t *parameters, NAME_state_t *state, const NAME_inputs_t *inputs, int64_t tick,
                  uint32_t arrived)
{
    int32_t error = arrived == 0 ? NAME_DONE : NAME_note(state, inputs, tick, arrived);
    if (error == NAME_DONE) {
        error = NAME_navigate(parameters, state, tick - NAME_DELAY);
    }
    if (error == NAME_DONE && (arrived & NAME_COMMAND) != 0) {
        NAME_belief_t now = state->belief;
        for (int32_t i = 1; error == NAME_DONE && i < state->used; ++i) {
            error = NAME_predict(parameters, &state->marks[i - 1], &state->marks[i], &now);
        }
        if (error == NAME_DONE) {
            NAME_mark_t *const last = &state->marks[state->used - 1];
            error = NAME_command(parameters, &now, &last->inputs, tick, &state->memory, &state->command);
            last->command = state->command;
        }
    }
    return error;
}
