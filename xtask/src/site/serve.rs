//! A static server for the loopback interface: content types, no caching, nothing else.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, TcpListener},
};

use tiny_http::{Header, Method, Request, Response, Server};

use crate::prelude::*;

/// Requests answered at a time.
const THREADS: usize = 8;

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
pub fn serve(listener: TcpListener, folder: &Path) -> Result<()> {
    let server = Server::from_listener(listener, None).map_err(|error| wrong!("cannot serve: {error}"))?;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for request in server.incoming_requests() {
                    let response = answer(folder, &request);
                    // A client's disconnection is not an error.
                    let _ = request.respond(response);
                }
            });
        }
    });
    Ok(())
}

fn answer(folder: &Path, request: &Request) -> Response<std::io::Cursor<Vec<u8>>> {
    let target = request.url();
    let found = || path_of(folder, target).and_then(|path| Some((kind(&path), std::fs::read(path).ok()?)));
    let (status, kind, body) = match request.method() {
        Method::Get | Method::Head => {
            found().map_or((404, TEXT, b"no such file\n".to_vec()), |(kind, body)| (200, kind, body))
        }
        _ => (405, TEXT, b"only GET and HEAD\n".to_vec()),
    };
    let headers = [
        ("Content-Type", kind),
        ("Cache-Control", "no-cache"),
        ("Access-Control-Allow-Origin", "*"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    ];
    let headers =
        headers.into_iter().chain(framing(target)).filter_map(|(name, value)| Header::from_bytes(name, value).ok());
    headers.fold(Response::from_data(body).with_status_code(status), Response::with_header)
}

/// Only the embedded page may be framed by others; a page cannot set this itself.
fn framing(target: &str) -> Option<(&'static str, &'static str)> {
    let path = target.split(['?', '#']).next().unwrap_or(target);
    (!path.ends_with("/embed.html")).then_some(("Content-Security-Policy", "frame-ancestors 'self'"))
}

/// Returns the requested file's path; `None` if outside the folder.
fn path_of(folder: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix('/')?;
    let path = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
    let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', ':', '\0', '%']);
    let inner = path.strip_suffix('/').unwrap_or(&path);
    if !inner.is_empty() && !inner.split('/').all(plain) {
        return None;
    }
    let full = folder.join(inner);
    Some(if path.is_empty() || path.ends_with('/') { full.join("index.html") } else { full })
}

const TEXT: &str = "text/plain; charset=utf-8";

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
        "txt" => TEXT,
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

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
        std::thread::spawn(move || serve(listener, &served));
        let ask = |request: &str| {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            write!(stream, "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            said
        };
        for (request, body) in [("GET /a.wasm", "\0asm"), ("HEAD /a.wasm", "")] {
            let said = ask(request);
            assert!(said.starts_with("HTTP/1.1 200") && said.ends_with(&format!("\r\n\r\n{body}")), "{said}");
            for header in [
                "Content-Type: application/wasm",
                "Access-Control-Allow-Origin: *",
                "Referrer-Policy: no-referrer",
                "X-Content-Type-Options: nosniff",
                "frame-ancestors 'self'",
            ] {
                assert!(said.contains(header), "{header}: {said}");
            }
        }
        // A query does not make another page framable.
        assert!(!ask("GET /embed.html?a").contains("frame-ancestors"));
        assert!(ask("GET /?embed.html").contains("frame-ancestors 'self'"));
        assert!(ask("GET /b.wasm").starts_with("HTTP/1.1 404"));
        assert!(ask("POST /a.wasm").starts_with("HTTP/1.1 405"));
    }
}
