//! What the operator was told, and when. Pure: times are Unix milliseconds.

use std::collections::BTreeMap;

use super::signs::{Sign, Signs};
use crate::words::counted;

/// The least time between two messages of one kind, in milliseconds.
const CALM: i64 = 60 * 60 * 1000;

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct News {
    pub(super) title: String,
    pub(super) message: String,
    /// Shared by what belongs together, so that the latest replaces the others on the phone.
    pub(super) sequence: String,
    /// Whether the trouble is over.
    pub(super) over: bool,
}

#[derive(Debug)]
struct Told {
    at: i64,
    standing: bool,
}

/// What was told so far.
#[derive(Debug, Default)]
pub(super) struct Memory {
    told: BTreeMap<Sign, Told>,
    /// Dead letters that are known, and when their growth was told last.
    dead: Option<u64>,
    dead_told_at: Option<i64>,
}

impl Memory {
    /// What is new since the last look.
    pub(super) fn compare(&mut self, signs: Signs, dead: u64, now: i64) -> Vec<News> {
        let mut news = self.ended(&signs);
        for (sign, message) in signs {
            let may_tell = self.told.get(&sign).is_none_or(|told| !told.standing && now - told.at >= CALM);
            if may_tell {
                news.push(News { title: sign.title(), message, sequence: sign.sequence(), over: false });
                self.told.insert(sign, Told { at: now, standing: true });
            }
        }
        news.extend(self.compare_dead(dead, now));
        news
    }

    /// Takes the dead letters there are for known.
    pub(super) fn skip_dead(&mut self, dead: u64) {
        self.dead = Some(dead);
    }

    fn ended(&mut self, signs: &Signs) -> Vec<News> {
        let mut news = Vec::new();
        for (sign, told) in
            self.told.iter_mut().filter(|(sign, told)| told.standing && !signs.contains_key(sign))
        {
            told.standing = false;
            let message = sign.all_clear();
            news.push(News { title: message.clone(), message, sequence: sign.sequence(), over: true });
        }
        news
    }

    fn compare_dead(&mut self, dead: u64, now: i64) -> Option<News> {
        // Those of before the start were told before the start.
        let known = *self.dead.get_or_insert(dead);
        if dead <= known {
            self.dead = Some(dead);
            return None;
        }
        if self.dead_told_at.is_some_and(|at| now - at < CALM) {
            return None;
        }
        (self.dead, self.dead_told_at) = (Some(dead), Some(now));
        Some(News {
            title: counted(dead - known, "new dead letter"),
            message: format!(
                "{} could not be delivered and will not be tried again by itself.\n\
                 See why: hookbell outbox list --state dead\nOnce that is mended: hookbell outbox retry --dead",
                counted(dead, "notification")
            ),
            sequence: "hookbell-dead-letters".to_owned(),
            over: false,
        })
    }
}

impl Sign {
    fn title(&self) -> String {
        match self {
            Self::RulesStale => "the rules are stale".to_owned(),
            Self::ServerClosed(server) => format!("server {server} takes nothing"),
            Self::TopicsRefused(server) => format!("server {server} refuses topics"),
            Self::StoreNearlyFull => "the disk is nearly full".to_owned(),
        }
    }

    fn all_clear(&self) -> String {
        match self {
            Self::RulesStale => "the rules are up to date again".to_owned(),
            Self::ServerClosed(server) => format!("server {server} takes notifications again"),
            Self::TopicsRefused(server) => format!("server {server} takes all topics again"),
            Self::StoreNearlyFull => "the disk has room again".to_owned(),
        }
    }

    /// At most 64 of the characters that ntfy takes.
    fn sequence(&self) -> String {
        let plain = |name: &str| -> String {
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect()
        };
        match self {
            Self::RulesStale => "hookbell-rules".to_owned(),
            Self::ServerClosed(server) => format!("hookbell-server-{}", plain(server)),
            Self::TopicsRefused(server) => format!("hookbell-topics-{}", plain(server)),
            Self::StoreNearlyFull => "hookbell-disk".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CALM, Memory, News, Sign, Signs};

    fn one(sign: Sign) -> Signs {
        Signs::from([(sign, "message".to_owned())])
    }

    fn titles(news: &[News]) -> Vec<&str> {
        news.iter().map(|news| news.title.as_str()).collect()
    }

    #[test]
    fn trouble_is_told_once_when_it_begins_and_once_when_it_is_over() {
        let mut memory = Memory::default();
        let server = || one(Sign::ServerClosed("main".to_owned()));
        assert_eq!(titles(&memory.compare(server(), 0, 0)), ["server main takes nothing"]);
        assert_eq!(memory.compare(server(), 0, 10 * CALM), []);
        assert_eq!(
            titles(&memory.compare(Signs::new(), 0, 10 * CALM)),
            ["server main takes notifications again"]
        );
        assert_eq!(memory.compare(Signs::new(), 0, 10 * CALM), []);
    }

    #[test]
    fn trouble_that_comes_and_goes_is_told_once_an_hour_each_kind_for_itself() {
        let mut memory = Memory::default();
        let mut told = Vec::new();
        for minute in 0..90 {
            let signs = if minute % 2 == 0 { one(Sign::RulesStale) } else { Signs::new() };
            told.extend(
                memory.compare(signs, 0, minute * 60_000).into_iter().map(|news| (minute, news.over)),
            );
        }
        assert_eq!(told, [(0, false), (1, true), (60, false), (61, true)]);
        assert_eq!(
            titles(&memory.compare(one(Sign::StoreNearlyFull), 0, 90 * 60_000)),
            ["the disk is nearly full"]
        );
    }

    #[test]
    fn dead_letters_are_told_when_they_grow_together_within_an_hour() {
        let mut memory = Memory::default();
        assert_eq!(memory.compare(Signs::new(), 5, 0), [], "they were there before");
        assert_eq!(titles(&memory.compare(Signs::new(), 7, 1)), ["2 new dead letters"]);
        assert_eq!(memory.compare(Signs::new(), 9, 2), []);
        assert_eq!(titles(&memory.compare(Signs::new(), 10, CALM + 1)), ["3 new dead letters"]);
        assert_eq!(memory.compare(Signs::new(), 0, 2 * CALM), []);
        assert_eq!(titles(&memory.compare(Signs::new(), 1, 3 * CALM)), ["1 new dead letter"]);
    }
}
