//! A static server for the loopback interface: content types, no caching, nothing else.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::Arc,
    time::Duration,
};

use crate::prelude::*;

/// Longest request head, in bytes.
const HEAD: u64 = 256 << 10;

/// Listens on `port`, or by default on the first free port from 8080 to 8100.
pub fn listen(port: Option<u16>) -> Result<TcpListener> {
    let first = port.unwrap_or(8080);
    let ports = if port.is_some() { first..=first } else { first..=first + 20 };
    for port in ports {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => return Ok(listener),
            Err(e) if e.kind() == ErrorKind::AddrInUse => {}
            Err(e) => {
                return Err(Error::Usage(format!("cannot listen on 127.0.0.1:{port}: {e}; choose another --port")));
            }
        }
    }
    Err(Error::Usage(format!("port {first} is taken by another program; choose another with --port")))
}

/// Serves `folder` until the program ends.
pub fn serve(listener: &TcpListener, folder: &Path) {
    let folder: Arc<Path> = folder.into();
    for stream in listener.incoming().flatten() {
        let folder = Arc::clone(&folder);
        std::thread::spawn(move || {
            // A client's disconnection is not an error.
            let _ = talk(&stream, &folder);
        });
    }
}

fn talk(stream: &TcpStream, folder: &Path) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        let mut limited = reader.by_ref().take(HEAD);
        while !head.ends_with(b"\r\n\r\n") {
            if limited.read_until(b'\n', &mut head)? == 0 {
                return Ok(());
            }
        }
        let head = String::from_utf8_lossy(&head);
        let mut words = head.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (status, kind, body) = match method {
            "GET" | "HEAD" => answer(folder, target),
            _ => ("405 Method Not Allowed", "text/plain", b"only GET and HEAD\n".to_vec()),
        };
        let (length, framing) = (body.len(), framing(target));
        let last = is_last(&head);
        let connection = if last { "Connection: close\r\n" } else { "" };
        let mut out = stream;
        write!(
            out,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-cache\r\n\
             {connection}{framing}Access-Control-Allow-Origin: *\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\r\n"
        )?;
        if method != "HEAD" {
            out.write_all(&body)?;
        }
        if last {
            return Ok(());
        }
    }
}

/// True if the client asks to close the connection, or uses HTTP/1.0.
fn is_last(head: &str) -> bool {
    let head = head.to_ascii_lowercase();
    head.lines().next().is_some_and(|request| request.ends_with("http/1.0"))
        || head.lines().any(|line| line.strip_prefix("connection:").is_some_and(|value| value.trim() == "close"))
}

/// Only the embedded page may be framed by others; a page cannot set this itself.
fn framing(target: &str) -> &'static str {
    let path = target.split(['?', '#']).next().unwrap_or(target);
    if path.ends_with("/embed.html") { "" } else { "Content-Security-Policy: frame-ancestors 'self'\r\n" }
}

fn answer(folder: &Path, target: &str) -> (&'static str, &'static str, Vec<u8>) {
    let found = path_of(folder, target).and_then(|path| Some((kind(&path), std::fs::read(path).ok()?)));
    let missing = || ("404 Not Found", "text/plain; charset=utf-8", b"no such file\n".to_vec());
    found.map_or_else(missing, |(kind, body)| ("200 OK", kind, body))
}

/// Returns the requested file's path; `None` if outside the folder.
fn path_of(folder: &Path, target: &str) -> Option<PathBuf> {
    let path = decode(target.split(['?', '#']).next()?.strip_prefix('/')?)?;
    let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', ':', '\0']);
    let inner = path.strip_suffix('/').unwrap_or(&path);
    if !inner.is_empty() && !inner.split('/').all(plain) {
        return None;
    }
    let full = folder.join(inner);
    Some(if path.is_empty() || path.ends_with('/') { full.join("index.html") } else { full })
}

fn decode(text: &str) -> Option<String> {
    let mut rest = text.bytes();
    let mut bytes = Vec::new();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            u8::from_str_radix(std::str::from_utf8(&[rest.next()?, rest.next()?]).ok()?, 16).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}

fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|e| e.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_stay_in_the_folder() {
        let folder = Path::new("/site");
        let inside = |target| path_of(folder, target);
        assert_eq!(inside("/"), Some("/site/index.html".into()));
        assert_eq!(inside("/data/a%20b.bin?v=1"), Some("/site/data/a b.bin".into()));
        assert_eq!(inside("/sub/"), Some("/site/sub/index.html".into()));
        for outside in ["/../x", "/%2e%2e/x", "/a/../../x", "//etc/passwd", "/a\\..\\x", "/%ff", "/%2", "x"] {
            assert_eq!(inside(outside), None, "{outside}");
        }
    }

    #[test]
    fn a_browser_gets_files_with_their_types() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.wasm"), b"\0asm").unwrap();
        let listener = listen(Some(0)).unwrap();
        let address = listener.local_addr().unwrap();
        let served = folder.path().to_owned();
        std::thread::spawn(move || serve(&listener, &served));
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            said
        };
        let two = ask("GET /a.wasm HTTP/1.1\r\n\r\nHEAD /a.wasm HTTP/1.1\r\n\r\n");
        assert_eq!(two.matches("200 OK").count(), 2, "{two}");
        assert_eq!(two.matches("application/wasm").count(), 2);
        assert_eq!(two.matches("\0asm").count(), 1, "a HEAD carries no body");
        for header in [
            "Access-Control-Allow-Origin: *",
            "Referrer-Policy: no-referrer",
            "X-Content-Type-Options: nosniff",
            "frame-ancestors 'self'",
        ] {
            assert_eq!(two.matches(header).count(), 2, "{header}: {two}");
        }
        // A query does not make another page framable.
        assert!(ask("GET /embed.html?a HTTP/1.1\r\n\r\n").find("frame-ancestors").is_none());
        assert!(ask("GET /?embed.html HTTP/1.1\r\n\r\n").contains("frame-ancestors 'self'"));
        // Clients that wait for the connection's end get it.
        for request in ["GET /a.wasm HTTP/1.0\r\n\r\n", "GET /a.wasm HTTP/1.1\r\nconnection: Close\r\n\r\n"] {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            assert!(said.ends_with("\0asm"), "{said}");
        }
        assert!(ask("GET /b.wasm HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask("POST /a.wasm HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    }
}
