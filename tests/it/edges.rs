//! Senders that are slow, idle or many.

mod heads;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::Gateway;
use crate::support::disk;
use crate::support::load::NUMBERS;
use crate::support::wait::until;
use crate::support::wire;

/// Kilobytes of `key` in /proc/PID/status.
fn memory(gateway: &Gateway, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("the key");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Seconds of processor time used so far.
fn cpu(gateway: &Gateway) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", gateway.pid())).expect("a stat");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks = |index: usize| fields[index].parse::<f64>().expect("ticks");
    (ticks(11) + ticks(12)) / 100.0
}

/// Whether the other side has closed, without waiting.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a mode");
    let mut chunk = [0; 512];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

#[test]
fn what_only_starting_needed_is_given_back_and_the_gateway_goes_on() {
    let gateway = Gateway::with_rules(NUMBERS).start();
    assert_eq!(gateway.post("/n", &[], "{\"n\":1}").status, 200);
    until("a third of the peak to be given back", || {
        (memory(&gateway, "VmRSS") * 3 < memory(&gateway, "VmHWM") * 2).then_some(())
    });
    assert_eq!(gateway.post("/n", &[], "{\"n\":2}").status, 200);
}

#[test]
fn five_hundred_half_sent_heads_neither_stop_service_nor_stay() {
    let gateway = Gateway::with_rules(NUMBERS).flag("--head-timeout", "1s").start();
    let mut half: Vec<TcpStream> = (0..500)
        .map(|_| {
            let mut stream = wire::connect(gateway.webhooks);
            stream.write_all(b"POST /n HTTP/1.1\r\nHost: x\r\nX-Slow: ").expect("to send");
            stream
        })
        .collect();
    for n in 0..20 {
        assert_eq!(gateway.post("/n", &[], format!("{{\"n\":{n}}}")).status, 200);
    }
    until("every half-sent request to be closed", || half.iter_mut().all(is_closed).then_some(()));
    assert!(memory(&gateway, "VmRSS") < 40_000, "{} kB", memory(&gateway, "VmRSS"));
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let gateway = Gateway::with_rules(NUMBERS).flag("--body-timeout", "1s").start();
    let answer =
        wire::exchange(gateway.webhooks, b"POST /n HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"n\"");
    assert_eq!(wire::status(&answer), Some(408), "{answer}");
}

#[test]
fn a_thousand_idle_connections_neither_stop_service_nor_grow_memory_nor_stay() {
    let gateway =
        Gateway::with_rules(NUMBERS).flag("--head-timeout", "3s").flag("--keep-alive", "3s").start();
    let mut idle: Vec<TcpStream> = (0..1_000).map(|_| wire::connect(gateway.webhooks)).collect();
    // Half of them have been served before they idle.
    for stream in idle.iter_mut().step_by(2) {
        stream
            .write_all(b"POST /n HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{\"n\":1}")
            .expect("to send");
    }
    until("all of them to be connected", || {
        gateway.metric("hookbell_connections").is_some_and(|open| open >= 1_000.0).then_some(())
    });
    assert_eq!(gateway.post("/n", &[], "{\"n\":2}").status, 200);
    let rss = memory(&gateway, "VmRSS");
    assert!(rss < 40_000, "{rss} kB");
    until("the idle connections to be closed", || idle.iter_mut().all(is_closed).then_some(()));
}

#[test]
fn running_out_of_file_descriptors_neither_spins_nor_floods_the_log_and_passes() {
    let gateway = Gateway::with_rules(NUMBERS)
        .flag("--head-timeout", "60s")
        .through(&["prlimit", "--nofile=96:96"])
        .start();
    let many: Vec<TcpStream> = (0..200).map(|_| wire::connect(gateway.webhooks)).collect();
    let (before, lines) = (cpu(&gateway), gateway.log().len());
    let start = Instant::now();
    until("three seconds without file descriptors", || {
        (start.elapsed() > Duration::from_secs(3)).then_some(())
    });
    let used = cpu(&gateway) - before;
    assert!(used < 0.5, "used {used} s of processor time");
    assert!(gateway.log().len() - lines < 20, "{:#?}", gateway.log());
    drop(many);
    until("service again", || {
        let mut stream = wire::connect(gateway.webhooks);
        stream
            .write_all(
                b"POST /n HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 7\r\n\r\n{\"n\":1}",
            )
            .ok()?;
        (wire::status(&wire::rest(&mut stream)) == Some(200)).then_some(())
    });
}

#[test]
fn a_full_disk_refuses_with_503_and_service_returns_with_space() {
    let Some(disk) = disk::small("1m") else {
        return eprintln!("skipped: this user cannot mount a small file system");
    };
    let gateway = Gateway::with_rules(NUMBERS).data(disk.path()).start();
    let filler = disk.path().join("filler");
    std::fs::write(&filler, vec![0; 2 << 20]).expect_err("the file system is small");
    let post = || gateway.post("/n", &[], format!("{{\"n\":1,\"x\":\"{}\"}}", "x".repeat(50_000)));
    let refused = until("a refusal", || Some(post()).filter(|answer| answer.status != 200));
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")), "{}", refused.text);
    let ready = gateway.admin("GET", "/readyz");
    assert_eq!(
        (ready.status, ready.json()["store"]["writable"].as_bool()),
        (503, Some(false)),
        "{}",
        ready.text
    );
    std::fs::remove_file(&filler).expect("to make room");
    until("service again", || (post().status == 200).then_some(()));
}

#[test]
fn a_limit_on_file_sizes_refuses_with_503_and_ends_nothing() {
    let gateway = Gateway::with_rules(NUMBERS).through(&["prlimit", "--fsize=262144:262144"]).start();
    let post = || gateway.post("/n", &[], format!("{{\"n\":1,\"x\":\"{}\"}}", "x".repeat(50_000)));
    let refused = until("a refusal", || Some(post()).filter(|answer| answer.status != 200));
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")), "{}", refused.text);
    assert_eq!(gateway.admin("GET", "/healthz").status, 200);
}

/// What a start says before it ends, and whether it failed.
fn failed_start(plan: &crate::support::gateway::Plan) -> String {
    let output = plan.command().output().expect("to start the gateway");
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).expect("utf-8")
}

#[test]
fn a_read_only_disk_is_told_at_the_start_with_a_remedy() {
    let Some(disk) = disk::read_only() else {
        return eprintln!("skipped: this user cannot mount a file system");
    };
    let told = failed_start(&Gateway::with_rules(NUMBERS).data(disk.path()));
    let expected =
        format!("error: cannot use the data directory `{}`; make it writable", disk.path().display());
    assert!(told.contains(&expected), "{told}");
}

#[test]
fn a_corrupt_store_is_told_at_the_start_and_set_aside_when_asked() {
    let plan = Gateway::with_rules(NUMBERS);
    let gateway = plan.start();
    for n in 0..200 {
        assert_eq!(gateway.post("/n", &[], format!("{{\"n\":{n}}}")).status, 200);
    }
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    let file = plan.data_folder().join("hookbell.db");
    let mut bytes = std::fs::read(&file).expect("a store");
    bytes[4096..].fill(0xA5);
    std::fs::write(&file, &bytes).expect("to damage it");
    let told = failed_start(&plan);
    assert!(told.contains("hookbell.db` is damaged: ") && told.contains("--set-store-aside"), "{told}");
    let untouched = |path: &std::path::Path| std::fs::read(path).expect("a store")[4096..] == bytes[4096..];
    assert!(untouched(&file), "nothing is moved unasked");
    let gateway = plan.env("HOOKBELL_SET_STORE_ASIDE", "true").start();
    assert_eq!(gateway.post("/n", &[], "{\"n\":1}").status, 200);
    let aside = std::fs::read_dir(gateway.data_folder()).expect("a folder").flatten();
    let aside: Vec<_> =
        aside.filter(|entry| entry.file_name().to_string_lossy().contains(".aside-")).collect();
    assert!(aside.len() == 1 && untouched(&aside[0].path()), "{aside:?}");
}

#[test]
fn a_second_gateway_on_the_same_store_is_refused() {
    let plan = Gateway::with_rules(NUMBERS);
    let gateway = plan.start();
    let told = failed_start(&plan);
    assert!(told.contains("error: another hookbell uses the data directory `"), "{told}");
    assert_eq!(gateway.post("/n", &[], "{\"n\":1}").status, 200);
}
