CC ?= cc
OPTIMISATION ?= -O2
CFLAGS = @FLAGS@ $(OPTIMISATION)

test: main_test
	./main_test

main_test: main_test.c NAME.c NAME.h test_vectors.h
	$(CC) $(CFLAGS) main_test.c NAME.c -lm -o main_test

clean:
	rm -f main_test

.PHONY: test clean
