//! Test cases beside the rules: a request, and what the rules must make of it. They run through the very
//! pipeline that serves.

mod check;
mod coverage;
mod environment;
mod expectation;
mod gate;
mod load;
mod raw;
mod record;
mod run;

pub use self::check::Difference;
pub use self::coverage::{Coverage, Gap};
pub use self::gate::failures;
pub use self::load::{Case, CaseFile, load};
pub use self::raw::schema;
pub use self::record::record;
pub use self::run::{Outcome, Report, Runner};
