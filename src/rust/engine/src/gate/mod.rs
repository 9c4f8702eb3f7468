//! Whether a call may run: risk, modes, policies, and the words of a refusal. No host is called here.
