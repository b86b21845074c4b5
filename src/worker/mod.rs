//! The protocol between page and training thread, and the agent that answers it.

pub mod protocol;
