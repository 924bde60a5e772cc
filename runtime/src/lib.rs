//! What compiled code calls: threads, buffers, the DLPack interface, errors.
