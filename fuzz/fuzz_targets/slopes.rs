#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| longview_fuzz::targets::slopes(text));
