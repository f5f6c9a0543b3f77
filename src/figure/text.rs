//! Widths of words and the way numbers are written.

/// The width of a text in CSS px, estimated from the widths of the wider sans-serifs. Asking the browser
/// costs a layout each time, and a figure only needs to know what fits.
pub(crate) fn width(text: &str, size_px: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '|' | '.' | ',' | ':' | ';' | '·' => 0.3,
        ' ' | 'f' | 't' | 'r' | 'I' | '(' | ')' | '/' | '-' | '[' | ']' => 0.37,
        'm' | 'w' | 'M' | 'W' | '→' | '←' | '…' => 0.86,
        // Chinese characters and their punctuation fill a square.
        '\u{2e80}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}' => 1.0,
        'A'..='Z' | '=' | '+' | '−' | '<' | '>' | '≤' | '≥' | '±' | '×' | '–' => 0.7,
        _ => 0.6,
    };
    text.chars().map(em).sum::<f64>() * size_px
}

/// A number to `digits` significant digits, without trailing zeros, with a true minus sign.
pub(crate) fn number(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "undefined".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let scientific = format!("{:.*e}", digits.max(1) - 1, value.abs());
    // "1.84e2": the digits and the power of ten after rounding.
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let written = if (-5..=6).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        trim(&format!("{:.decimals$}", value.abs())).to_string()
    } else {
        format!("{}e{}", trim(mantissa), minus(&exponent.to_string()))
    };
    if value < 0.0 {
        format!("−{written}")
    } else {
        written
    }
}

/// A tick of a logarithmic axis: below 1/1000 with a power of ten, as long zeros are hard to count.
pub(crate) fn log_tick(value: f64) -> String {
    if value > 0.000_99 {
        return number(value, 2);
    }
    minus(&format!("{value:.1e}").replace(".0", ""))
}

/// A number with that many decimals and a true minus sign.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return number(value, 3);
    }
    minus(&format!("{value:.decimals$}"))
}

/// A power of two from 1/2 down as a fraction, any other slope to four digits.
pub(crate) fn slope(value: f64) -> String {
    let exponent = -value.log2();
    if value > 0.0 && exponent >= 1.0 && exponent.fract() == 0.0 && exponent <= 20.0 {
        return format!("1/{}", exponent.exp2());
    }
    number(value, 4)
}

/// A count in groups of three digits from five digits on.
pub(crate) fn count(value: usize) -> String {
    let digits = value.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

fn trim(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

fn minus(digits: &str) -> String {
    digits.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_print() {
        assert_eq!(number(-1.84, 3), "−1.84");
        assert_eq!(number(0.000123456, 3), "0.000123");
        assert_eq!(number(1e-9, 3), "1e−9");
        assert_eq!(number(12345.0, 3), "12345");
        assert_eq!(number(0.5, 3), "0.5");
        assert_eq!(number(999.96, 4), "1000");
        assert_eq!(number(f64::NAN, 3), "undefined");
        assert_eq!(fixed(-0.25, 1), "−0.2");
        assert_eq!(log_tick(1e-5), "1e−5");
        assert_eq!(log_tick(3.0 * 1e-5), "3e−5");
        assert_eq!(log_tick(1.5e-12), "1.5e−12");
        assert_eq!(log_tick(0.001), "0.001");
        assert_eq!(log_tick(0.0002), "2e−4");
        assert_eq!(count(4096), "4096");
        assert_eq!(count(15512), "15\u{202f}512");
    }

    #[test]
    fn slopes_are_fractions_where_they_are_powers_of_two() {
        assert_eq!(slope(0.5), "1/2");
        assert_eq!(slope(0.00390625), "1/256");
        assert_eq!(slope((-0.5f64).exp2()), "0.7071");
        assert_eq!(slope(0.3), "0.3");
        assert_eq!(slope(0.0), "0");
        assert_eq!(slope(-0.5), "−0.5");
        assert_eq!(slope(2.0), "2");
    }
}
