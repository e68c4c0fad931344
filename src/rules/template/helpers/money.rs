//! Amounts of money.

use serde_json::Value;

use super::{Arguments, Outcome, Pure};
use crate::rules::matcher::number;

pub(super) const HELPERS: &[Pure] = &[Pure { name: "money", arity: (2, 2), call: money }];

/// Currencies whose smallest unit is the currency itself (ISO 4217, as payment services count).
/// <https://docs.stripe.com/currencies#zero-decimal>
const WHOLE: [&str; 15] =
    ["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"];
/// Currencies of a thousand smallest units.
const THOUSANDTHS: [&str; 5] = ["BHD", "JOD", "KWD", "OMR", "TND"];

/// An amount in the smallest unit of its currency, as payment services send it: `{{money 1099 'eur'}}` is `10.99 EUR`.
/// Without an amount or a currency it says nothing, since either alone would mislead.
fn money(arguments: &Arguments<'_>) -> Outcome {
    let currency = arguments.text(1).to_uppercase();
    if arguments.value(0).is_null() || currency.is_empty() {
        return Ok(Value::Null);
    }
    let Some(amount) = number(arguments.value(0)) else {
        return Err(format!("expected an amount in the smallest unit, found {}", arguments.value(0)));
    };
    let digits = match currency.as_str() {
        whole if WHOLE.contains(&whole) => 0,
        small if THOUSANDTHS.contains(&small) => 3,
        _ => 2,
    };
    let amount = amount / 10_f64.powi(digits);
    Ok(format!("{amount:.digits$} {currency}", digits = digits.unsigned_abs() as usize).into())
}
