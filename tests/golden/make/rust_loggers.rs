//! Writes golden files of Rust's loggers: tracing-subscriber's JSON, flattened and not, its text, and env_logger.
//!
//! Run it in a crate with tracing 0.1, tracing-subscriber 0.3 (features json, env-filter), log 0.4 and env_logger 0.11:
//! `cargo run -- GOLDEN_FOLDER`. What is expected is written here from what is logged; nothing of it is taken from a decoder.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::MakeWriter;

const LOGGED: &str = "2026-05-28T20:10:00.125Z";
const LOGGED_MS: u64 = 1_779_999_000_125;
const KAFKA_MS: u64 = 1_780_000_000_000;

struct Fixed;

impl FormatTime for Fixed {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        writer.write_str(LOGGED)
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Lines;

    fn make_writer(&'a self) -> Lines {
        self.clone()
    }
}

impl Lines {
    fn take(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().split_off(0)).unwrap();
        text.lines().map(|line| format!("{line}\n")).collect()
    }
}

fn log_by_tracing() {
    tracing::info!(target: "shop::cart", "added 3 of sku-77");
    tracing::warn!(target: "shop::cart", sku = "sku-77", left = 2, urgent = true, "stock is low: é 語 🛒");
    tracing::error!(target: "shop::cart", sku = "sku-78", "could not add");
    tracing::debug!(target: "shop::cart", "of no use");
}

fn log_by_log() {
    log::info!(target: "shop::cart", "added 3 of sku-77");
    log::warn!(target: "shop::cart", "stock is low: é 語 🛒");
    log::error!(target: "shop::cart", "could not add");
    log::debug!(target: "shop::cart", "of no use");
}

const LEVELS: [&str; 4] = ["INFO", "WARN", "ERROR", "DEBUG"];
const TEXTS: [&str; 4] = ["added 3 of sku-77", "stock is low: é 語 🛒", "could not add", "of no use"];

fn save(folder: &str, name: &str, producer: &str, values: &[String], texts: &[String], fields: [&str; 4]) {
    let mut out = format!("{{\"made_by\":\"tests/golden/make/rust_loggers.rs\",\"producer\":\"{producer}\",\"written_from_documentation\":false}}\n");
    for (number, value) in values.iter().enumerate() {
        out += &format!(
            "{{\"value_base64\":\"{}\",\"headers\":[],\"kafka_ms\":{KAFKA_MS},\"format\":\"auto\",\"expected\":[{{\"text\":{},\"time_ms\":{LOGGED_MS},\
             \"level\":\"{}\",\"service\":\"\",\"fields\":{},\"trace\":null}}]}}\n",
            base64(value.as_bytes()), quoted(&texts[number]), LEVELS[number], fields[number]
        );
    }
    std::fs::write(format!("{folder}/{name}.jsonl"), out).unwrap();
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |bits: u32, place: u32| LETTERS[(bits >> (18 - 6 * place) & 63) as usize] as char;
    let block = |some: &[u8]| {
        let bits = (0..3).fold(0, |bits, place| bits << 8 | u32::from(*some.get(place).unwrap_or(&0)));
        (0..4).map(move |place| if place as usize <= some.len() { letter(bits, place) } else { '=' }).collect::<String>()
    };
    bytes.chunks(3).map(block).collect()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\x1b', "\\u001b"))
}

fn main() {
    let folder = std::env::args().nth(1).expect("GOLDEN_FOLDER");
    let lines = Lines::default();
    let texts: Vec<String> = TEXTS.iter().map(|text| text.to_string()).collect();
    let builder = || tracing_subscriber::fmt().with_timer(Fixed).with_writer(lines.clone()).with_max_level(tracing::Level::DEBUG);

    tracing::subscriber::with_default(builder().json().finish(), log_by_tracing);
    let target = r#""logger":"shop::cart""#;
    let low = format!("{{{target},\"fields.sku\":\"sku-77\",\"fields.left\":2,\"fields.urgent\":true}}");
    let fields = [format!("{{{target}}}"), low, format!("{{{target},\"fields.sku\":\"sku-78\"}}"), format!("{{{target}}}")];
    save(&folder, "tracing_json", "tracing-subscriber 0.3", &lines.take(), &texts, fields.each_ref().map(String::as_str));

    tracing::subscriber::with_default(builder().json().flatten_event(true).finish(), log_by_tracing);
    let fields = fields.map(|one| one.replace("fields.", "").replace("logger", "target"));
    save(&folder, "tracing_flat", "tracing-subscriber 0.3", &lines.take(), &texts, fields.each_ref().map(String::as_str));

    tracing::subscriber::with_default(builder().with_ansi(true).finish(), log_by_tracing);
    let coloured = lines.take();
    tracing::subscriber::with_default(builder().with_ansi(false).finish(), log_by_tracing);
    let plain = lines.take();
    let seen: Vec<String> = plain.iter().map(|line| line.trim_end().to_string()).collect();
    save(&folder, "tracing_text", "tracing-subscriber 0.3", &coloured, &seen, [r#"{"logger":"shop::cart"}"#; 4]);

    let target = env_logger::Target::Pipe(Box::new(lines.clone()));
    let mut logger = env_logger::Builder::new();
    logger.target(target).filter_level(log::LevelFilter::Debug).format_timestamp_millis().init();
    log_by_log();
    let now = lines.take();
    let values: Vec<String> = now.iter().map(|line| format!("[{LOGGED}{}", &line[25..])).collect(); // its clock cannot be set
    let seen: Vec<String> = values.iter().map(|line| line.trim_end().to_string()).collect();
    save(&folder, "env_logger", "env_logger 0.11", &values, &seen, [r#"{"logger":"shop::cart"}"#; 4]);
}
