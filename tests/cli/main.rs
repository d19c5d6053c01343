//! The command line, run as users and scripts run it.

#![cfg(feature = "cli")]

mod commands;
mod shell;
