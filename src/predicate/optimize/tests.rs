//! Tests of the normal form.
