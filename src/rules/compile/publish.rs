//! From `publish:` to [`Publish`]: defaults merged, literals held against ntfy's rules.

use std::sync::Arc;

use super::server::DEFAULT;
use super::template::{compile_optional, compile_template};
use crate::notification::{ACTIONS_LIMIT, MESSAGE_LIMIT, Priority, TAGS_LIMIT, TITLE_LIMIT, Topic};
use crate::problem::{Place, Problem, Problems, suggestion};
use crate::rules::decode::{At, Entries};
use crate::rules::raw;
use crate::rules::source::{ActionKind, ActionTemplate, Fallback, Publish};
use crate::rules::template::{Template, Vocabulary};

/// What every notification of a source starts from.
#[derive(Debug, Clone, Default)]
pub(super) struct Defaults {
    pub(super) raw: Option<raw::Publish>,
    pub(super) topic: Option<Topic>,
}

/// Reads `defaults:`. Its topic must be plain: it is where notifications go when templates fail.
pub(super) fn compile_defaults(raw: Option<&At<raw::Publish>>, problems: &mut Problems) -> Defaults {
    let Some(raw) = raw else { return Defaults::default() };
    let topic = raw.value.topic.as_ref().and_then(|topic| {
        if topic.value.contains("{{") {
            problems.push(Problem::at(&topic.place, "the default topic must be plain, not a template").help(
                "notifications go there when a template gives no valid topic; move this to `publish:`",
            ));
            return None;
        }
        parse_topic(topic, problems)
    });
    Defaults { raw: Some(raw.value.clone()), topic }
}

/// Where notifications go that no rule makes.
pub(super) fn fallback_of(defaults: &Defaults) -> Option<Fallback> {
    let raw = defaults.raw.as_ref();
    let title = raw.and_then(|raw| raw.title.as_ref()).filter(|title| !title.value.contains("{{"));
    Some(Fallback {
        server: raw.and_then(|raw| raw.server.as_ref()).map_or(DEFAULT, |server| &server.value).into(),
        topic: defaults.topic.clone()?,
        title: title.map(|title| title.value.clone()),
    })
}

/// Compiles one notification of a rule.
pub(super) fn compile_publish(
    raw: &At<raw::Publish>,
    defaults: &Defaults,
    servers: &[&str],
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<Publish> {
    let own = &raw.value;
    let base = defaults.raw.as_ref();
    macro_rules! merged {
        ($field:ident) => {
            own.$field.as_ref().or_else(|| base.and_then(|base| base.$field.as_ref()))
        };
    }
    check_literals(own, problems);
    check_topic(raw, defaults, problems);
    let server: Arc<str> = merged!(server).map_or(DEFAULT, |server| server.value.as_str()).into();
    check_server(merged!(server), &raw.place, servers, problems);
    let mut template = |text: Option<&At<String>>| compile_optional(text, vocabulary, problems);
    Some(Publish {
        server,
        topic: template(own.topic.as_ref()),
        default_topic: defaults.topic.clone(),
        title: template(merged!(title)),
        message: template(merged!(message)),
        priority: [own.priority.as_ref(), base.and_then(|base| base.priority.as_ref())]
            .into_iter()
            .filter_map(&mut template)
            .collect(),
        tags: merged!(tags).into_iter().flatten().filter_map(|tag| template(Some(tag))).collect(),
        click: template(merged!(click)),
        icon: template(merged!(icon)),
        attach: template(merged!(attach)),
        filename: template(merged!(filename)),
        email: template(merged!(email)),
        call: template(merged!(call)),
        delay: template(merged!(delay)),
        sequence_id: template(merged!(sequence_id)),
        markdown: merged!(markdown).is_some_and(|flag| flag.value),
        cache: merged!(cache).is_none_or(|flag| flag.value),
        firebase: merged!(firebase).is_none_or(|flag| flag.value),
        actions: merged!(actions)
            .into_iter()
            .flatten()
            .filter_map(|action| compile_action(action, vocabulary, problems))
            .collect(),
    })
}

fn check_server(server: Option<&At<String>>, place: &Place, servers: &[&str], problems: &mut Problems) {
    let (name, place) = server.map_or((DEFAULT, place), |server| (&server.value, &server.place));
    // Without any server notifications are printed to the terminal, whatever their name for it.
    if servers.is_empty() || servers.contains(&name) {
        return;
    }
    problems.push(
        Problem::at(place, format!("unknown server {name:?}"))
            .help(suggestion(name, servers.iter().copied())),
    );
}

fn check_topic(raw: &At<raw::Publish>, defaults: &Defaults, problems: &mut Problems) {
    let problem = match &raw.value.topic {
        Some(topic) if !topic.value.contains("{{") => {
            parse_topic(topic, problems);
            return;
        }
        _ if defaults.topic.is_some() => return,
        // A default topic that is wrong has been reported already.
        _ if defaults.raw.as_ref().is_some_and(|raw| raw.topic.is_some()) => return,
        Some(topic) => Problem::at(&topic.place, "a topic that is a template needs a default topic")
            .help("add `defaults: { topic: … }` to the source: it is used when this gives no valid topic"),
        None => Problem::at(&raw.place, "missing key \"topic\"")
            .help("add `topic:` here, or `defaults: { topic: … }` to the source"),
    };
    problems.push(problem);
}

fn parse_topic(topic: &At<String>, problems: &mut Problems) -> Option<Topic> {
    Topic::parse(&topic.value)
        .map_err(|error| {
            problems.push(Problem::at(&topic.place, error.to_string()).help("choose another name"))
        })
        .ok()
}

/// Holds every field without expressions against what ntfy would refuse or cut.
pub(super) fn check_literals(raw: &raw::Publish, problems: &mut Problems) {
    if let Some(priority) = plain(raw.priority.as_ref())
        && let Err(error) = Priority::parse(&priority.value)
    {
        problems.push(Problem::at(&priority.place, error.to_string()));
    }
    check_length("title", plain(raw.title.as_ref()), TITLE_LIMIT, problems);
    check_length("message", plain(raw.message.as_ref()), MESSAGE_LIMIT, problems);
    check_tags(raw, problems);
    for (name, url) in [("icon", &raw.icon), ("attach", &raw.attach)] {
        if let Some(url) = plain(url.as_ref())
            && !crate::notification::is_http_url(&url.value)
        {
            let message = format!("invalid {name} {:?}: it must begin with http:// or https://", url.value);
            problems.push(Problem::at(&url.place, message).help("ntfy fetches nothing else"));
        }
    }
    if let Some(id) = plain(raw.sequence_id.as_ref())
        && Topic::parse_sequence_id(&id.value).is_err()
    {
        let message = format!("invalid sequence_id {:?}: use 1 to 64 letters, digits, `-` and `_`", id.value);
        problems.push(Problem::at(&id.place, message));
    }
    check_combinations(raw, problems);
}

fn plain(text: Option<&At<String>>) -> Option<&At<String>> {
    text.filter(|text| !text.value.contains("{{"))
}

fn check_length(name: &str, text: Option<&At<String>>, limit: usize, problems: &mut Problems) {
    if let Some(text) = text.filter(|text| text.value.trim().len() > limit) {
        let message = format!("{name} is {} bytes long, but ntfy takes {limit}", text.value.trim().len());
        problems.push(Problem::at(&text.place, message).help("shorten it"));
    }
}

fn check_tags(raw: &raw::Publish, problems: &mut Problems) {
    let Some(tags) = &raw.tags else { return };
    let total: usize = tags.iter().filter_map(|tag| plain(Some(tag))).map(|tag| tag.value.len() + 1).sum();
    if total > TAGS_LIMIT + 1
        && let Some(first) = tags.first()
    {
        let message = format!("tags are {total} bytes long together, but ntfy takes {TAGS_LIMIT}");
        problems.push(Problem::at(&first.place, message).help("use fewer or shorter tags"));
    }
}

/// Fields that ntfy refuses together.
fn check_combinations(raw: &raw::Publish, problems: &mut Problems) {
    if let (Some(filename), None) = (&raw.filename, &raw.attach) {
        problems.push(
            Problem::at(&filename.place, "filename without attach")
                .help("ntfy would turn the message itself into a file; add `attach:` or remove this"),
        );
    }
    if let Some(actions) = raw.actions.as_ref().filter(|actions| actions.len() > ACTIONS_LIMIT) {
        let message = format!("ntfy takes at most {ACTIONS_LIMIT} actions, found {}", actions.len());
        problems.push(Problem::at(&actions[ACTIONS_LIMIT].place, message).help("keep the most useful ones"));
    }
    let Some(delay) = &raw.delay else { return };
    let rivals = [
        ("cache: false", raw.cache.as_ref().is_some_and(|cache| !cache.value)),
        ("email", raw.email.is_some()),
        ("call", raw.call.is_some()),
    ];
    for (rival, _) in rivals.into_iter().filter(|(_, set)| *set) {
        problems.push(
            Problem::at(&delay.place, format!("delay cannot be combined with {rival}"))
                .help("remove one of the two"),
        );
    }
}

fn compile_action(
    raw: &At<raw::Action>,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<ActionTemplate> {
    let action = &raw.value;
    let labels = [&action.view, &action.http, &action.broadcast, &action.copy];
    let Some(label) = labels.iter().find_map(|label| label.as_ref()) else {
        problems.push(
            Problem::at(&raw.place, "an action needs one of view, http, broadcast and copy")
                .help("write it like `{ view: \"Open\", url: \"https://…\" }`"),
        );
        return None;
    };
    if labels.iter().filter(|label| label.is_some()).count() > 1 {
        problems.push(
            Problem::at(&raw.place, "an action is one of view, http, broadcast and copy")
                .help("write two actions"),
        );
        return None;
    }
    let kind = compile_kind(raw, vocabulary, problems);
    let label = compile_template(label, vocabulary, problems);
    Some(ActionTemplate { kind: kind?, label: label?, clear: action.clear.as_ref().is_some_and(|c| c.value) })
}

fn compile_kind(
    raw: &At<raw::Action>,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<ActionKind> {
    let action = &raw.value;
    Some(if action.view.is_some() {
        ActionKind::View { url: required("url", action.url.as_ref(), &raw.place, vocabulary, problems)? }
    } else if action.http.is_some() {
        let url = required("url", action.url.as_ref(), &raw.place, vocabulary, problems);
        ActionKind::Http {
            method: compile_optional(action.method.as_ref(), vocabulary, problems),
            headers: compile_entries(&action.headers, vocabulary, problems),
            body: compile_optional(action.body.as_ref(), vocabulary, problems),
            url: url?,
        }
    } else if action.broadcast.is_some() {
        ActionKind::Broadcast {
            intent: compile_optional(action.intent.as_ref(), vocabulary, problems),
            extras: compile_entries(&action.extras, vocabulary, problems),
        }
    } else {
        ActionKind::Copy {
            value: required("value", action.value.as_ref(), &raw.place, vocabulary, problems)?,
        }
    })
}

fn required(
    key: &str,
    text: Option<&At<String>>,
    place: &Place,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<Template> {
    match text {
        Some(text) => compile_template(text, vocabulary, problems),
        None => {
            problems.push(
                Problem::at(place, format!("missing key {key:?} in action"))
                    .help(format!("add `{key}:` to this action")),
            );
            None
        }
    }
}

fn compile_entries(
    entries: &Entries<At<String>>,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Vec<(String, Template)> {
    let compile = |(key, text): &(crate::rules::node::Key, At<String>)| {
        Some((key.name.clone(), compile_template(text, vocabulary, problems)?))
    };
    entries.0.iter().filter_map(compile).collect()
}
