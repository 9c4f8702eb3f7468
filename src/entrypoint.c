/* What R loads, and the few calls of R's C interface that the Rust side needs and extendr does not offer.
 * The gptr_* functions below are not registered with R: the bindings declare them as extern "C". */

#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include <R_ext/Utils.h>

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#endif

void R_init_gptr_extendr(DllInfo *dll);
void register_extendr_panic_hook(void);

int gptr_check_interrupt(void);
void gptr_block_signals(void);
SEXP gptr_weakref_make(SEXP key);
SEXP gptr_weakref_get(SEXP ref);

void R_init_gptr(DllInfo *dll) {
    register_extendr_panic_hook();
    R_init_gptr_extendr(dll);
}

static void check_interrupt(void *unused) {
    (void) unused;
    R_CheckUserInterrupt();
}

/* 1 when the user pressed Ctrl-C since the last look, else 0. R's own check jumps out of the caller; under
 * R_ToplevelExec() the jump ends here, so that no Rust frame is skipped. Only for R's thread. */
int gptr_check_interrupt(void) {
    return R_ToplevelExec(check_interrupt, NULL) ? 0 : 1;
}

/* For a worker thread, at its start: asynchronous signals go to R's thread, whose handlers expect them there.
 * Signals that a fault of this very thread raises stay deliverable, since blocking them is undefined. */
void gptr_block_signals(void) {
#ifndef _WIN32
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, SIGSEGV);
    sigdelset(&set, SIGBUS);
    sigdelset(&set, SIGFPE);
    sigdelset(&set, SIGILL);
    sigdelset(&set, SIGABRT);
    sigdelset(&set, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
#endif
}

/* A reference that does not keep `key` alive. `key` must be an environment or an external pointer (anything else
 * makes R raise an error, which must not happen under a Rust frame). */
SEXP gptr_weakref_make(SEXP key) {
    return R_MakeWeakRef(key, R_NilValue, R_NilValue, FALSE);
}

/* The key, or NULL once it has been collected. */
SEXP gptr_weakref_get(SEXP ref) {
    return R_WeakRefKey(ref);
}
