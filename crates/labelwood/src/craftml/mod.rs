//! craftml.
