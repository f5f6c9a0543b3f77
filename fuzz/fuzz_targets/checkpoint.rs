#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| longview_fuzz::targets::checkpoint(bytes));
