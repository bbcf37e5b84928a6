/* Flight software behind a wire: a processor in the loop of gnc. It runs on a board, in a process, or under qemu-user.
 *
 *     server                          frames on standard input and output
 *     server PORT                     on TCP, one client
 *
 * Frames: see docs/flight_code.md. A question that comes twice is answered twice and done once. For tests of losses,
 * SERVER_LOSE=n leaves out every n-th answer, SERVER_LATE=n gives every n-th after 0.3 s. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "NAME_wire.h"

#ifndef SERVER_TRIALS
#define SERVER_TRIALS 256
#endif
enum { ABOUT = 1, BEGIN = 2, STEP = 3 };

typedef struct {
    char magic[4];
    uint32_t kind;
    uint32_t sequence;
    uint32_t trial;
    int64_t tick;
    uint32_t arrived;
    uint32_t bytes;
} head_t;

#define ROOM (8 * (WIRE_START + WIRE_INPUTS + WIRE_OUTPUTS) + 256)

static uint32_t crc32(const unsigned char *bytes, size_t n, uint32_t crc)
{
    crc = ~crc;
    for (size_t i = 0; i < n; ++i) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; ++k) {
            crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0u);
        }
    }
    return ~crc;
}

static int all_read(int from, void *to, size_t n)
{
    char *at = to;
    while (n > 0) {
        const ssize_t got = read(from, at, n);
        if (got <= 0) {
            return 0;
        }
        at += got;
        n -= (size_t)got;
    }
    return 1;
}

static int all_written(int to, const void *from, size_t n)
{
    const char *at = from;
    while (n > 0) {
        const ssize_t put = write(to, at, n);
        if (put <= 0) {
            return 0;
        }
        at += put;
        n -= (size_t)put;
    }
    return 1;
}

/* Read a frame; 0 at the end, -1 if it is damaged. */
static int heard(int from, head_t *head, double *payload)
{
    uint32_t check;
    do { /* find the next magic, byte by byte after damage */
        if (!all_read(from, head->magic, 1)) {
            return 0;
        }
    } while (head->magic[0] != 'G');
    if (!all_read(from, &head->magic[1], sizeof *head - 1)) {
        return 0;
    }
    if (memcmp(head->magic, "GNC1", 4) != 0 || head->bytes > ROOM) {
        return -1;
    }
    if (!all_read(from, payload, head->bytes) || !all_read(from, &check, sizeof check)) {
        return 0;
    }
    const uint32_t crc = crc32((const unsigned char *)head, sizeof *head, 0);
    return crc32((const unsigned char *)payload, head->bytes, crc) == check ? 1 : -1;
}

/* Do what is asked; the answer is in place of the question. */
static void done(wire_craft_t craft[], head_t *head, double *payload)
{
    static double out[WIRE_OUTPUTS];
    wire_craft_t *const own = &craft[head->trial % SERVER_TRIALS];
    head->bytes = 0;
    if (head->kind == ABOUT) {
        int32_t sizes[5];
        char *const texts = (char *)&payload[4];
        wire_about(sizes, texts, texts + 64);
        for (int i = 0; i < 4; ++i) {
            payload[i] = (double)sizes[i + 1];
        }
        head->bytes = 4 * sizeof(double) + 128;
    } else if (head->kind == BEGIN) {
        wire_begin(own, payload);
    } else {
        head->arrived = (uint32_t)wire_step(own, payload, head->tick, head->arrived, out);
        memcpy(payload, out, sizeof out);
        head->bytes = sizeof out;
    }
}

static long every(const char *name)
{
    const char *const text = getenv(name);
    return text == NULL ? 0 : strtol(text, NULL, 10);
}

static int served(int from, int to)
{
    static wire_craft_t craft[SERVER_TRIALS];
    static double payload[ROOM / 8];
    head_t head;
    uint32_t last = 0;
    int good;
    const long lose = every("SERVER_LOSE"), late = every("SERVER_LATE");
    for (long n = 1; (good = heard(from, &head, payload)) != 0; ++n) {
        static double again[ROOM / 8];
        static head_t answered;
        if (good < 0) {
            continue;
        }
        if (head.sequence != last) {
            last = head.sequence;
            done(craft, &head, payload);
            answered = head;
            memcpy(again, payload, head.bytes);
        }
        if (lose > 0 && n % lose == 0) {
            continue;
        }
        if (late > 0 && n % late == 0) {
            const struct timespec pause = {0, 300000000};
            nanosleep(&pause, NULL);
        }
        uint32_t crc = crc32((const unsigned char *)&answered, sizeof answered, 0);
        crc = crc32((const unsigned char *)again, answered.bytes, crc);
        if (!all_written(to, &answered, sizeof answered) || !all_written(to, again, answered.bytes) ||
            !all_written(to, &crc, sizeof crc)) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char *argv[])
{
    if (argc < 2) {
        return served(STDIN_FILENO, STDOUT_FILENO);
    }
    const int listening = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in place;
    memset(&place, 0, sizeof place);
    place.sin_family = AF_INET;
    place.sin_port = htons((uint16_t)strtol(argv[1], NULL, 10));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listening, (struct sockaddr *)&place, sizeof place) != 0 || listen(listening, 1) != 0) {
        perror("server");
        return 1;
    }
    const int client = accept(listening, NULL, NULL);
    return served(client, client);
}
