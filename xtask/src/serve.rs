//! A small server for the page, on this machine only.

use crate::compress::{self, CODINGS, Coding};
use crate::workspace::root;
use crate::{document, package};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tiny_http::{Method, Request, Server};

/// How many ports after a busy one are tried.
const NEXT_PORTS: u16 = 20;

#[derive(clap::Args)]
pub struct Arguments {
    /// Port on 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Print the address only
    #[arg(long)]
    no_open: bool,
    /// Serve pkg/ as it stands
    #[arg(long, conflicts_with = "fast")]
    no_build: bool,
    /// Skip wasm-opt, to see a change sooner
    #[arg(long)]
    fast: bool,
}

/// Builds, serves, and returns when the server ends.
pub fn run(arguments: &Arguments) -> Result<()> {
    if !arguments.no_build {
        package::build(&package::Arguments { fast: arguments.fast })?;
    }
    let site = Site::start(arguments.port)?;
    println!("Longview is at {} (stop it with Ctrl-C)", site.address);
    if !arguments.no_open && has_desktop() && webbrowser::open(&site.address).is_err() {
        eprintln!("No browser could be opened: open the address yourself.");
    }
    let _ = site.worker.join();
    bail!("the server has ended")
}

/// A running server. It ends with the program.
pub struct Site {
    /// `http://127.0.0.1:PORT/`
    pub address: String,
    worker: thread::JoinHandle<()>,
}

impl Site {
    /// Serves the repository's root on 127.0.0.1.
    pub fn start(port: u16) -> Result<Self> {
        let listener = listen(port)?;
        let address = format!("http://{}/", listener.local_addr()?);
        let server = Server::from_listener(listener, None)
            .map_err(|error| anyhow::anyhow!("the server cannot start: {error}"))?;
        let folder = root()
            .canonicalize()
            .context("the repository's folder cannot be read")?;
        let folder = Arc::new(folder);
        let worker = thread::spawn(move || {
            while let Ok(request) = server.recv() {
                let folder = Arc::clone(&folder);
                // One thread a request: a reader who stalls in the middle of a file holds up nobody else.
                thread::spawn(move || answer(request, &folder));
            }
        });
        Ok(Self { address, worker })
    }
}

/// Takes the port, or says that it is busy and takes the next free one.
fn listen(port: u16) -> Result<TcpListener> {
    let last = port.saturating_add(NEXT_PORTS);
    for candidate in port..=last {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, candidate)) {
            Ok(listener) => {
                if candidate != port {
                    eprintln!(
                        "Port {port} is in use; {candidate} is free and taken instead (choose one with --port)."
                    );
                }
                return Ok(listener);
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => {
                return Err(error).with_context(|| format!("port {candidate} of 127.0.0.1 cannot be opened"));
            }
        }
    }
    bail!("ports {port} to {last} are all in use: choose another with --port")
}

fn has_desktop() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

fn answer(request: Request, folder: &Path) {
    let plain = [("Content-Type", "text/plain; charset=utf-8")];
    if !matches!(request.method(), Method::Get | Method::Head) {
        return send(
            request,
            "405 Method Not Allowed",
            &plain,
            b"only GET and HEAD are served\n",
        );
    }
    let Some((bytes, path)) = read(request.url(), folder) else {
        return send(request, "404 Not Found", &plain, b"no such file\n");
    };
    let mut headers = vec![
        ("Content-Type", content_type(&path)),
        ("Vary", "Accept-Encoding"),
        // What is being worked on must never come from the browser's cache.
        ("Cache-Control", "no-store"),
        // A frame that is sandboxed has no origin, and may load modules and bytes only if everybody may.
        ("Access-Control-Allow-Origin", "*"),
    ];
    match smaller(&request, &path, &bytes) {
        Some((coding, small)) => {
            headers.push(("Content-Encoding", coding.name()));
            send(request, "200 OK", &headers, &small);
        }
        None => send(request, "200 OK", &headers, &bytes),
    }
}

/// The bytes behind an address, and where they stand. The page's own document is made for what is built.
fn read(url: &str, folder: &Path) -> Option<(Vec<u8>, PathBuf)> {
    let path = resolve(url, folder)?;
    let made = (path == folder.join("index.html")).then(document::page);
    let bytes = match made {
        Some(Ok(html)) => html.into_bytes(),
        _ => fs::read(&path).ok()?,
    };
    Some((bytes, path))
}

/// Answers, and asks the reader to close the connection: tiny_http has a thread for each that is open, and of
/// several that are opened at once it may leave one waiting until another is closed.
fn send(request: Request, status: &str, headers: &[(&str, &str)], body: &[u8]) {
    let has_body = *request.method() != Method::Head;
    let mut head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    let mut writer = request.into_writer();
    // A reader who has gone away is no error of ours.
    let _ = writer
        .write_all(head.as_bytes())
        .and_then(|()| if has_body { writer.write_all(body) } else { Ok(()) })
        .and_then(|()| writer.flush());
}

/// A file as it was compressed when it was built, in the best coding that the reader takes; nothing where it
/// was not, since compressing takes longer than sending.
fn smaller(request: &Request, path: &Path, bytes: &[u8]) -> Option<(Coding, Vec<u8>)> {
    if !compress::is_worthwhile(path) {
        return None;
    }
    let accepted = request
        .headers()
        .iter()
        .find(|header| header.field.equiv("Accept-Encoding"))?;
    CODINGS
        .into_iter()
        .filter(|coding| accepts(accepted.value.as_str(), *coding))
        .find_map(|coding| Some((coding, compress::kept(bytes, coding)?)))
}

/// Whether an `Accept-Encoding` has a coding, and not with weight 0 (RFC 9110, 12.5.3).
fn accepts(header: &str, coding: Coding) -> bool {
    header.split(',').any(|part| {
        let mut parts = part.split(';').map(str::trim);
        let is_named = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(coding.name()));
        let weight = parts.find_map(|more| more.strip_prefix("q=")).map(str::parse);
        is_named && weight.is_none_or(|weight| weight.is_ok_and(|weight: f32| weight > 0.0))
    })
}

/// The file behind an address, if it stands inside the folder and is no hidden file.
fn resolve(url: &str, folder: &Path) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?;
    let path = percent_decode(path.strip_prefix('/')?)?;
    if path.contains(['\\', '\0', ':']) {
        return None;
    }
    let is_plain = |component| match component {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        _ => false,
    };
    let relative = Path::new(&path);
    if !relative.components().all(is_plain) {
        return None;
    }
    // canonicalize() follows links: what they point at must stand inside as well.
    let mut found = folder.join(relative).canonicalize().ok()?;
    if found.is_dir() {
        found.push("index.html");
    }
    (found.starts_with(folder) && found.is_file()).then_some(found)
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Browsers compile a module while it downloads only if it comes as `application/wasm`, and run a script as
/// an ES module only if it comes as JavaScript.
fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("txt" | "md" | "ts" | "rs" | "wgsl") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::net::TcpStream;

    fn get(site: &Site, path: &str) -> (u16, String) {
        let host = site.address.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }

    #[test]
    fn files_are_served_with_their_type() {
        let site = Site::start(0).unwrap();
        let (status, answer) = get(&site, "/corpus/README.md?query=1");
        assert_eq!(status, 200);
        assert!(answer.contains("text/plain; charset=utf-8"), "{answer}");
        assert!(answer.ends_with(&std::fs::read_to_string(root().join("corpus/README.md")).unwrap()));
        assert_eq!(get(&site, "/corpus%2FREADME.md").0, 200);
        assert_eq!(get(&site, "/no-such-file").0, 404);
    }

    #[test]
    fn what_was_compressed_is_sent_so_to_those_who_take_it() {
        let file = root().join("out/compressed.js");
        fs::create_dir_all(root().join("out")).unwrap();
        let text = format!("let run = {};\n", std::process::id()).repeat(100);
        fs::write(&file, &text).unwrap();
        let site = Site::start(0).unwrap();
        let ask = |accepted: &str| {
            let host = site.address.trim_start_matches("http://").trim_end_matches('/');
            let mut stream = TcpStream::connect(host).unwrap();
            write!(
                stream,
                "GET /out/compressed.js HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAccept-Encoding: {accepted}\r\n\r\n"
            )
            .unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            answer
        };
        let has =
            |answer: &[u8], words: &str| answer.windows(words.len()).any(|some| some == words.as_bytes());
        assert!(has(&ask("gzip, br"), &text), "it was not compressed yet");
        let small = CODINGS.map(|coding| compress::encoded(text.as_bytes(), coding).unwrap());
        let answer = ask("gzip, br");
        assert!(answer.ends_with(&small[0]) && has(&answer, "Content-Encoding: br\r\n"));
        let answer = ask("br;q=0, gzip;q=0.5");
        assert!(answer.ends_with(&small[1]) && has(&answer, "Content-Encoding: gzip\r\n"));
        assert!(has(&ask("identity"), &text));
        fs::remove_file(file).unwrap();
    }

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let site = Site::start(0).unwrap();
        for path in [
            "/../Cargo.toml",
            "/corpus/../Cargo.toml",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/corpus/%2e%2e/Cargo.toml",
            "//etc/passwd",
            "/..%5cCargo.toml",
            "/.gitignore",
            "/.git/HEAD",
            "/Cargo.toml%00",
            "/%zz",
        ] {
            assert_eq!(get(&site, path).0, 404, "{path}");
        }
        assert_eq!(get(&site, "/Cargo.toml").0, 200);
    }

    #[test]
    fn readers_who_stall_hold_up_nobody() {
        // Larger than what the system keeps for a connection.
        std::fs::create_dir_all(root().join("out")).unwrap();
        let file = root().join("out/stalled.bin");
        File::create(&file).unwrap().set_len(64 << 20).unwrap();
        let site = Site::start(0).unwrap();
        let host = site.address.trim_start_matches("http://").trim_end_matches('/');
        let stalled: Vec<TcpStream> = (0..8)
            .map(|_| {
                let mut stream = TcpStream::connect(host).unwrap();
                write!(stream, "GET /out/stalled.bin HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
                // The answer has begun, and is never read to its end.
                stream.read_exact(&mut [0; 64]).unwrap();
                stream
            })
            .collect();
        assert_eq!(get(&site, "/Cargo.toml").0, 200);
        drop(stalled);
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn many_who_come_at_once_are_all_served() {
        let site = Site::start(0).unwrap();
        let host = site.address.trim_start_matches("http://").trim_end_matches('/');
        let ask = || {
            let mut stream = TcpStream::connect(host).unwrap();
            // A browser keeps its connections open.
            write!(stream, "GET /Cargo.toml HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
            stream
                .set_read_timeout(Some(std::time::Duration::from_secs(60)))
                .unwrap();
            let mut start = [0; 34];
            stream.read_exact(&mut start).unwrap();
            assert_eq!(&start, b"HTTP/1.1 200 OK\r\nConnection: close");
        };
        for _ in 0..20 {
            thread::scope(|scope| {
                for _ in 0..12 {
                    scope.spawn(ask);
                }
            });
        }
    }

    #[test]
    fn a_busy_port_gives_the_next_free_one() {
        let busy = listen(0).unwrap();
        let port = busy.local_addr().unwrap().port();
        let next = listen(port).unwrap().local_addr().unwrap().port();
        assert!(next > port && next <= port + NEXT_PORTS, "{port} {next}");
    }

    #[test]
    fn modules_come_as_what_browsers_accept() {
        assert_eq!(
            content_type(Path::new("pkg/longview_bg.wasm")),
            "application/wasm"
        );
        assert!(content_type(Path::new("www/main.js")).starts_with("text/javascript"));
    }
}
