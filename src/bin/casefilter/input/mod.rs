//! Where cases, filters and requests come from: arguments, files, databases, services.

pub(crate) mod admin;
pub(crate) mod advice;
pub(crate) mod cases;
pub(crate) mod copy;
pub(crate) mod duration;
pub(crate) mod help;
pub(crate) mod holder;
pub(crate) mod kind;
pub(crate) mod loaded;
pub(crate) mod postgres;
pub(crate) mod requests;
pub(crate) mod selection;
pub(crate) mod served;
pub(crate) mod unpack;
