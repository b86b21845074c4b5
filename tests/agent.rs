//! The training loop as the page sees it: messages in, messages out, on the CPU engine with
//! synthetic digits.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    time::Duration,
};

use futures::{
    channel::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded},
        oneshot,
    },
    task::LocalSpawnExt,
};
use futures_executor::{LocalPool, LocalSpawner};
use hushgrad::{
    accounting::{ledger::Ledger, noise::NoiseSpec, rdp},
    data::{
        Source,
        card::Card,
        idx::PIXELS,
        shard_writer::{self, MANIFEST, Set},
        synthetic,
    },
    engine::{Engine as _, Performance, cpu::CpuEngine},
    mechanism::{Denoiser, EncoderSpec, EnvelopeShape},
    train::{
        config::{Minority, RunConfig, SamplingPolicy},
        plan::Plan,
        report::{Privacy, Report},
        run_file::RunFile,
        session::Session,
    },
    worker::{
        agent,
        counting::{ClassReport, MISREAD, accuracy},
        host::Host,
        inbox::Incoming,
        load_error::LoadError,
        protocol::{BackendChoice, DataRequest, Event, NetworkRequest, Problem, Request, RunInfo},
        reading::{self, Heard, Reader, ReaderError},
        run_store::{Change, Entry, Memory, Record, Store, StoreError, StoredBooks},
    },
};
use hushgrad_message::Message;

#[path = "agent/books.rs"]
mod books;
#[cfg(feature = "page")]
#[path = "agent/german.rs"]
mod german;
#[path = "agent/monkey.rs"]
mod monkey;
#[cfg(feature = "page")]
#[path = "agent/refused.rs"]
mod refused;

#[cfg(feature = "gpu")]
#[path = "common/adapter.rs"]
mod adapter;

/// A page that serves files from memory and records events.
struct Page {
    events: RefCell<Vec<Event>>,
    files: Vec<(String, Vec<u8>)>,
    /// Whether cached files are wrong; fetching anew bypasses them.
    stale: Cell<bool>,
    /// Addresses of files that were found valid.
    kept: RefCell<Vec<String>>,
    /// Whether files arrive one by one, when the test lets them.
    slow: Cell<bool>,
    /// Whether the site's server fails.
    down: Cell<bool>,
    waiting: RefCell<VecDeque<oneshot::Sender<()>>>,
    browser: Rc<Browser>,
    /// Whether time passes only if a test lets it.
    patient: Cell<bool>,
    /// Called when the next run starts.
    at_start: RefCell<Option<Box<dyn FnOnce()>>>,
    /// What the next reader says before it reads; an error if it cannot be started.
    of_reader: RefCell<Vec<Result<Heard, ReaderError>>>,
    spawner: LocalSpawner,
}

/// What outlives a thread.
#[derive(Default)]
struct Browser {
    kept: RefCell<Memory>,
    /// How the store answers.
    says: RefCell<Says>,
    writes: Cell<u32>,
    /// Runs that are open in some tab.
    locked: RefCell<Vec<String>>,
}

#[derive(Clone, Default)]
enum Says {
    #[default]
    Yes,
    No(StoreError),
    /// It answers after a while, which a busy thread sees as one long pause.
    Late,
    /// It never answers.
    Nothing,
    /// The thread dies as it writes: the block is written, and no answer arrives.
    WritesAndFallsSilent,
}

struct Lock {
    browser: Rc<Browser>,
    key: String,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.browser.locked.borrow_mut().retain(|key| *key != self.key);
    }
}

impl Store for Page {
    type Lock = Lock;

    async fn keys(&self) -> Result<Vec<String>, StoreError> {
        self.said(|kept| Ok(kept.keys())).await
    }

    async fn read(&self, key: &str) -> Result<Option<Record>, StoreError> {
        self.said(|kept| Ok(kept.read(key).cloned())).await
    }

    async fn spent(&self) -> Result<Vec<StoredBooks>, StoreError> {
        self.said(|kept| Ok(kept.spent())).await
    }

    async fn write(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        self.browser.writes.set(self.browser.writes.get() + 1);
        if let Says::WritesAndFallsSilent = *self.browser.says.borrow() {
            self.browser.kept.borrow_mut().write(changes.clone())?;
        }
        self.said(|kept| kept.write(changes)).await
    }

    async fn lock(&self, key: &str) -> Result<Lock, StoreError> {
        let (browser, key) = (self.browser.clone(), key.to_owned());
        if browser.locked.borrow().contains(&key) {
            return Err(StoreError::Busy);
        }
        browser.locked.borrow_mut().push(key.clone());
        Ok(Lock { browser, key })
    }
}

impl Page {
    async fn said<T>(&self, what: impl FnOnce(&mut Memory) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let says = self.browser.says.borrow().clone();
        match says {
            Says::Yes => what(&mut self.browser.kept.borrow_mut()),
            Says::No(error) => Err(error),
            Says::Late => {
                turns(4).await;
                what(&mut self.browser.kept.borrow_mut())
            }
            Says::Nothing | Says::WritesAndFallsSilent => std::future::pending().await,
        }
    }
}

impl Host for Page {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, LoadError> {
        if self.slow.get() {
            let (arrive, arrived) = oneshot::channel();
            self.waiting.borrow_mut().push_back(arrive);
            arrived.await.unwrap();
        }
        let url = url.to_owned();
        if self.down.get() {
            return Err(LoadError::Fetch { url, reason: "500 Internal Server Error".into(), absent: false });
        }
        let file = self.files.iter().find(|(name, _)| url.ends_with(name.as_str()));
        let absent = || LoadError::Fetch { url: url.clone(), reason: "404 Not Found".into(), absent: true };
        if self.stale.get() {
            return Ok(b"<!doctype html><title>Sign in</title>".to_vec());
        }
        file.map(|(_, bytes)| bytes.clone()).ok_or_else(absent)
    }
    async fn fetch_anew(&self, url: &str) -> Result<Vec<u8>, LoadError> {
        let stale = self.stale.replace(false);
        let fetched = self.fetch(url).await;
        self.stale.set(stale);
        fetched
    }
    fn keep(&self, url: &str, _: &[u8]) {
        self.kept.borrow_mut().push(url.to_owned());
    }
    fn reader(&self, _: &str) -> Result<Reader, ReaderError> {
        let (orders, taken) = unbounded();
        let (tell, heard) = unbounded();
        let reader = Reader { orders: Box::new(orders), heard };
        for heard in self.of_reader.take() {
            let heard = heard?;
            let over = matches!(heard, Heard::Failed(_));
            tell.unbounded_send(heard).unwrap();
            if over {
                return Ok(reader);
            }
        }
        let decode = async |coded: &[u8]| {
            turns(1).await;
            hushgrad::data::decode::decode(coded)
        };
        let told = move |told| drop(tell.unbounded_send(Heard::Message(told)));
        self.spawn(reading::read(taken, decode, told));
        Ok(reader)
    }
    async fn yield_now(&self) {
        turns(1).await;
    }
    async fn sleep(&self, _: Duration) {
        if self.patient.get() {
            return std::future::pending().await;
        }
        self.yield_now().await;
    }
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.spawner.spawn_local(task).unwrap();
    }
    fn send(&self, event: Event) {
        #[cfg(feature = "page")]
        german::heard(&event);
        if let (Event::Started(_), Some(then)) = (&event, self.at_start.borrow_mut().take()) {
            then();
        }
        self.events.borrow_mut().push(event);
    }
    fn requests(&self) -> Vec<NetworkRequest> {
        Vec::new()
    }
}

/// Waits for turns of the executor, as a browser's event loop would take.
async fn turns(mut left: u32) {
    std::future::poll_fn(|context| {
        if left == 0 {
            return std::task::Poll::Ready(());
        }
        left -= 1;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

struct Thread {
    pool: LocalPool,
    page: Rc<Page>,
    inbox: UnboundedSender<Incoming>,
    /// Number of requested loads.
    loads: u32,
    /// Key of the current run.
    key: String,
}

impl Thread {
    fn new(files: Vec<(String, Vec<u8>)>) -> Self {
        Self::in_browser(Rc::default(), files)
    }

    /// A thread in a browser that other threads use, or have used.
    fn in_browser(browser: Rc<Browser>, files: Vec<(String, Vec<u8>)>) -> Self {
        let pool = LocalPool::new();
        let page = Rc::new(Page {
            events: RefCell::default(),
            files,
            stale: Cell::default(),
            kept: RefCell::default(),
            slow: Cell::default(),
            down: Cell::default(),
            waiting: RefCell::default(),
            browser,
            patient: Cell::default(),
            at_start: RefCell::default(),
            of_reader: RefCell::default(),
            spawner: pool.spawner(),
        });
        let (inbox, messages): (_, UnboundedReceiver<Incoming>) = unbounded();
        pool.spawner().spawn_local(agent::run(page.clone(), messages, inbox.clone())).unwrap();
        Self { pool, page, inbox, loads: 0, key: String::new() }
    }

    /// Begins to load a site's dataset, which arrives file by file.
    fn with_slow_site(files: Vec<(String, Vec<u8>)>) -> Self {
        let mut thread = Self::new(files);
        thread.page.slow.set(true);
        thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
        thread.load(site());
        thread
    }

    /// Loads digits, and starts a run at step 0.
    fn with_run(config: RunConfig) -> Self {
        Self::with_run_in(Rc::default(), config)
    }

    fn with_run_in(browser: Rc<Browser>, config: RunConfig) -> Self {
        let mut thread = Self::in_browser(browser, Vec::new());
        thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
        thread.load(DataRequest::Synthetic { seed: 1, train: 600, test: 700 });
        let events = thread.ask_and_settle(Request::Start { config: Box::new(config), broken: None });
        assert!(events.iter().any(|e| matches!(e, Event::Started(info) if info.train == 600)), "{events:?}");
        thread
    }

    fn ask(&self, request: Request) {
        self.inbox.unbounded_send(Incoming::Request(request)).unwrap();
    }

    /// Runs until the loop waits for a message, and returns its events.
    fn settle(&mut self) -> Vec<Event> {
        self.pool.run_until_stalled();
        let events = self.page.events.take();
        if let Some(info) =
            events.iter().rev().find_map(|e| if let Event::Started(info) = e { Some(info) } else { None })
        {
            self.key.clone_from(&info.key);
        }
        Self::rests_at_its_last_step(&events);
        events
    }

    /// Checks that no run rests before its last step is reported, nor is complete before it is
    /// measured: the page then takes what it knows as final.
    fn rests_at_its_last_step(events: &[Event]) {
        let step = |event: &Event| if let Event::Report(report, _) = event { Some(report.step) } else { None };
        for report in
            events.iter().filter_map(|event| if let Event::Report(report, _) = event { Some(report) } else { None })
        {
            assert!(!report.complete || report.test_accuracy.is_some(), "complete, and not measured: {report:?}");
        }
        for (at, _) in events.iter().enumerate().filter(|(_, event)| **event == Event::Playing(false)) {
            let (before, after) = events.split_at(at);
            let goes_on = |event: &&Event| !matches!(event, Event::Started(_) | Event::Playing(true));
            let next = after.iter().take_while(goes_on).find_map(step);
            assert!(
                next.is_none() || next == before.iter().rev().find_map(step),
                "a step after the run's rest: {events:?}"
            );
        }
    }

    /// A request to continue the run in this file, which the browser keeps from now on.
    fn continuing(&self, file: Vec<u8>) -> Request {
        let entry = Entry { name: "f".to_owned(), note: String::new(), pinned: false, card: String::new() };
        let record = Record { entry, file: String::from_utf8(file).unwrap(), books: None, reserved: 0 };
        let key = "a file".to_owned();
        self.page.browser.kept.borrow_mut().write(vec![Change::Begin { key: key.clone(), record }]).unwrap();
        Request::Continue { key }
    }

    /// Only for requests after which the loop comes to rest.
    fn ask_and_settle(&mut self, request: Request) -> Vec<Event> {
        self.ask(request);
        self.settle()
    }

    fn load(&mut self, from: DataRequest) -> Vec<Event> {
        self.loads += 1;
        self.ask_and_settle(Request::Load { load: self.loads, from })
    }

    /// Counts which digits pay for privacy.
    fn count(&mut self) -> ClassReport {
        let events = self.ask_and_settle(Request::Count);
        let Some(Event::ClassReport(counted)) = events.last() else { panic!("{events:?}") };
        (**counted).clone()
    }

    /// Loads the visitor's files, piece by piece as they are requested.
    fn load_files(&mut self, files: &[(String, Vec<u8>)]) -> Vec<Event> {
        let sizes = files.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect();
        let mut events = self.load(own(sizes));
        while let Some(Event::Wanted { load, file, start, end }) =
            events.iter().position(|event| matches!(event, Event::Wanted { .. })).map(|place| events.remove(place))
        {
            let bytes = files[file as usize].1[start as usize..end as usize].to_vec();
            events.extend(self.ask_and_settle(Request::Piece { load, bytes: Some(bytes) }));
        }
        events
    }

    /// Lets the next file arrive.
    fn one_arrives(&mut self) -> Vec<Event> {
        let next = self.page.waiting.borrow_mut().pop_front().unwrap();
        next.send(()).unwrap();
        self.settle()
    }

    fn problems(events: &[Event]) -> Vec<&Problem> {
        events.iter().filter_map(|e| if let Event::Problem(problem) = e { Some(problem) } else { None }).collect()
    }

    fn last_report(events: &[Event]) -> Report {
        let reports =
            events.iter().rev().find_map(|e| if let Event::Report(r, _) = e { Some(r.clone()) } else { None });
        reports.unwrap_or_else(|| panic!("no report in {events:?}"))
    }
}

fn site() -> DataRequest {
    DataRequest::Site { manifest: format!("http://here/data/{MANIFEST}") }
}

/// Files of a site with 10,050 training images and 60 test images, all blank: a manifest and three
/// shards, requested in the order manifest, training, test, training.
fn shards(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = std::env::temp_dir().join(format!("hushgrad-agent-{name}-{}", std::process::id()));
    let (pixels, labels) = (vec![0; 10_050 * PIXELS], (0..10_050).map(|i| (i % 10) as u8).collect::<Vec<_>>());
    let set = |count: usize| Set { pixels: &pixels[..count * PIXELS], labels: &labels[..count] };
    let written = shard_writer::write(&folder, "blank", set(10_050), set(60)).unwrap();
    let file = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let files = written.iter().map(|(path, _)| (file(path), std::fs::read(path).unwrap())).collect();
    std::fs::remove_dir_all(folder).unwrap();
    files
}

/// The visitor's files of these names and sizes.
fn own(files: Vec<(String, u64)>) -> DataRequest {
    DataRequest::Files { reader: "http://here/reader_loader.js".to_owned(), files }
}

/// A visitor's file that is cut off.
fn damaged() -> Vec<(String, Vec<u8>)> {
    vec![("mine-images-idx3-ubyte".to_owned(), vec![0, 0, 8, 3, 0, 0])]
}

fn refusals(events: &[Event]) -> Vec<(u32, String)> {
    let refused = |event| match event {
        &Event::NotLoaded { load, over: true, ref sentence } => Some((load, sentence.to_string())),
        _ => None,
    };
    events.iter().filter_map(refused).collect()
}

/// The curves of a run and of its baseline need a beginning.
#[test]
fn the_first_steps_of_a_run_and_of_its_baseline_are_measured() {
    let mut thread = Thread::with_run(short());
    let events = thread.ask_and_settle(Request::Play);
    let run = events.iter().filter_map(|event| match event {
        Event::Report(report, _) => report.test_accuracy.map(|_| report.step),
        _ => None,
    });
    let run: Vec<u64> = run.collect();
    let events = thread.ask_and_settle(Request::TrainBaseline);
    let baseline = events.iter().filter_map(|event| match event {
        Event::BaselineMeasured { step, .. } => Some(*step),
        _ => None,
    });
    let baseline: Vec<u64> = baseline.collect();
    for step in [1, 2, 4, 8, 16, 32, 40] {
        assert!(run.contains(&step) && baseline.contains(&step), "{step}: {run:?}, {baseline:?}");
    }
}

#[test]
fn files_are_requested_in_pieces_unless_too_many_or_too_large() {
    let mut thread = Thread::with_run(short());
    let sized = |count: u32, size| own((0..count).map(|i| (format!("file-{i}"), size)).collect());
    for (request, says) in [(sized(20, 250_000_000), "20 files were given"), (sized(1, 9 << 30), "file-0 has 9.7 GB")] {
        let events = thread.load(request);
        let refused = refusals(&events);
        let [(_, sentence)] = &refused[..] else { panic!("{events:?}") };
        assert!(sentence.contains(says), "{sentence}");
        assert!(!events.iter().any(|event| matches!(event, Event::Wanted { .. })), "{events:?}");
    }
    let images = |count: u32| {
        let mut file = hushgrad::data::idx::header(hushgrad::data::idx::Kind::Images, count);
        file.resize(file.len() + count as usize * PIXELS, 0);
        file
    };
    let mut labels = hushgrad::data::idx::header(hushgrad::data::idx::Kind::Labels, 6000);
    labels.extend((0..6000).map(|i| (i % 10) as u8));
    let files = [("mine-images".to_owned(), images(6000)), ("mine-labels".to_owned(), labels)];
    let events = thread.load_files(&files);
    let shown: Vec<u64> =
        events.iter().filter_map(|e| if let Event::Loading { done, .. } = e { Some(*done) } else { None }).collect();
    assert!(shown.len() >= 3 && shown.is_sorted(), "{shown:?}");
    assert!(
        events.iter().any(|event| matches!(event, Event::Loaded { train: 4000..6000, complete: true, .. })),
        "{events:?}"
    );
    // Bytes that were not requested, or cannot be read, and files that others replace.
    assert_eq!(thread.ask_and_settle(Request::Piece { load: 99, bytes: Some(vec![0]) }), vec![]);
    let waiting = thread.load(sized(1, 1_000_000));
    assert!(matches!(waiting[..], [Event::Wanted { file: 0, start: 0, .. }]), "{waiting:?}");
    let before = thread.loads;
    let events = thread.load(sized(2, 1_000_000));
    assert_eq!(refusals(&events)[0].0, before);
    let events = thread.ask_and_settle(Request::Piece { load: thread.loads, bytes: None });
    let refused = refusals(&events);
    let [(load, sentence)] = &refused[..] else { panic!("{events:?}") };
    assert!(*load == thread.loads && sentence.starts_with("“file-0” cannot be read"), "{sentence}");
    assert_eq!(thread.ask_and_settle(Request::Piece { load: thread.loads, bytes: Some(vec![0]) }), vec![]);
}

/// A ZIP of PNG files, in a folder for each of two classes; the last of them may be damaged.
fn pictures(count: u8, damaged: bool) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(vec![]));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for i in 0..count {
        let mut png = std::io::Cursor::new(vec![]);
        let picture = image::GrayImage::from_fn(8, 8, |x, _| image::Luma([i.wrapping_mul(31) ^ x as u8]));
        picture.write_to(&mut png, image::ImageFormat::Png).unwrap();
        let mut png = png.into_inner();
        if damaged && i + 1 == count {
            png[41..49].fill(0xff);
        }
        zip.start_file(format!("pets/{}/{i:03}.png", ["cat", "dog"][usize::from(i % 2)]), stored).unwrap();
        std::io::Write::write_all(&mut zip, &png).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn pictures_are_decoded_beside_the_loop() {
    let mut thread = Thread::new(Vec::new());
    thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
    let events = thread.load_files(&[("pets.zip".to_owned(), pictures(60, false))]);
    let all = |event: &Event| matches!(event, Event::Loaded { train, test, complete: true, source: Source::Visitor, .. } if train + test == 60);
    assert!(events.iter().any(all), "{events:?}");
    let decoded = |event: &Event| matches!(event, Event::Loading { done: 16 | 32 | 48, total: 60 });
    assert_eq!(events.iter().filter(|event| decoded(event)).count(), 3, "{events:?}");
    let presumed = |event: &Event| matches!(event, Event::Loaded { remarks, .. } if remarks.iter().any(|said| said.contains("are read from the files and assumed to be public")));
    assert!(events.iter().any(presumed), "{events:?}");

    // One cannot be decoded: it is left out, and named.
    let events = thread.load_files(&[("damaged.zip".to_owned(), pictures(60, true))]);
    let named = |event: &Event| {
        matches!(event, Event::Loaded { train, test, remarks, .. }
            if train + test == 59 && remarks.iter().any(|said| said.contains("pets/dog/059.png (1 of 60 files)")))
    };
    assert!(events.iter().any(named), "{events:?}");
    // Orders of the card, before and after.
    let cards = |events: &[Event]| -> Vec<Card> {
        events
            .iter()
            .filter_map(|event| if let Event::Loaded { card, .. } = event { card.clone() } else { None })
            .collect()
    };
    let mut turned = cards(&events);
    for mirror in [false, false, false, false, true, true] {
        turned.extend(cards(&thread.ask_and_settle(Request::Orient { mirror })));
    }
    let [read, turn, .., upright, mirrored, back] = &turned[..] else { panic!("{}", turned.len()) };
    assert!(turn != read && mirrored != read && [upright, back] == [read; 2]);
    assert_eq!(turn.counts, read.counts);

    // Others replace those that are being decoded.
    let zip = pictures(60, false);
    let size = zip.len() as u64;
    let first = thread.load(own(vec![("pets.zip".to_owned(), size)]));
    assert!(matches!(first[..], [Event::Wanted { start: 0, end: 1024, .. }]), "{first:?}");
    let load = thread.loads;
    thread.ask_and_settle(Request::Piece { load, bytes: Some(zip[..1024].to_vec()) });
    thread.ask(Request::Piece { load, bytes: Some(zip[1024..].to_vec()) });
    let events = thread.load(own(vec![("labels".to_owned(), 1000)]));
    let [Event::NotLoaded { load: over, sentence, .. }] =
        &events.iter().filter(|event| matches!(event, Event::NotLoaded { .. })).collect::<Vec<_>>()[..]
    else {
        panic!("{events:?}")
    };
    assert!(*over == load && sentence.to_string().starts_with("other files were chosen"), "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, Event::Loaded { .. })), "{events:?}");
}

#[test]
fn failed_readers_are_reported_and_cost_nothing() {
    let mut thread = Thread::with_run(short());
    let files = || own(vec![("mine-images".to_owned(), 5_000)]);
    let absent = ReaderError::Absent { reason: "Failed to fetch".into() };
    let ended = ReaderError::Ended { reason: "unreachable".into() };
    let no_memory = ReaderError::NoMemory { bytes: 400_000_000 };
    for (heard, says) in [
        (Err(absent.clone()), "the file reader could not be loaded (Failed to fetch)"),
        (Ok(Heard::Failed(absent)), "the file reader could not be loaded (Failed to fetch)"),
        (Ok(Heard::Failed(ended)), "the thread that read the files has stopped (unreachable)"),
        (Ok(Heard::Failed(no_memory)), "the browser has too little memory for these images (400.0 MB)"),
    ] {
        thread.page.of_reader.replace(vec![heard]);
        let events = thread.load(files());
        let refused = refusals(&events);
        let [(load, sentence)] = &refused[..] else { panic!("{events:?}") };
        assert!(*load == thread.loads && sentence.starts_with(says), "{sentence}");
        // It is not read further, even if it continues.
        let piece = Request::Piece { load: thread.loads, bytes: Some(vec![0; 1024]) };
        assert_eq!(thread.ask_and_settle(piece), vec![]);
    }
    // A late reader is reported, and reads.
    thread.page.of_reader.replace(vec![Ok(Heard::Late)]);
    let events = thread.load(files());
    let late = |event: &Event| matches!(event, Event::Notice(said) if said.contains("is slow to load"));
    let wanted = |event: &Event| matches!(event, Event::Wanted { file: 0, start: 0, .. });
    assert!(events.len() == 2 && events.iter().any(late) && events.iter().any(wanted), "{events:?}");
    // Digits that arrive in between are used: the files are not read further.
    let events = thread.load(DataRequest::Synthetic { seed: 1, train: 600, test: 700 });
    assert!(events.iter().any(|event| matches!(event, Event::Loaded { train: 600, .. })), "{events:?}");
    assert_eq!(thread.ask_and_settle(Request::Piece { load: thread.loads - 1, bytes: Some(vec![0]) }), vec![]);
    let report = Thread::last_report(&thread.ask_and_settle(Request::Play));
    assert_eq!(report.step, 40);
}

#[test]
fn the_confusion_matrix_counts_every_test_digit_and_agrees_with_the_accuracy() {
    let mut thread = Thread::with_run(short());
    let report = Thread::last_report(&thread.ask_and_settle(Request::Play));
    let counted = thread.count();
    assert_eq!(counted.run.step, 40);
    assert_eq!(counted.run.usual.iter().flatten().sum::<u32>(), 700);
    assert_eq!(accuracy(&counted.run.usual, None), report.test_accuracy);
    assert_eq!((counted.run.turned, counted.open), (None, None));
    // Of the last step, which was traced.
    assert_eq!(counted.pulls.map(|(step, _)| step), Some(40));
    // All misread ones, or as many as are shown, the surest first, each as it was drawn.
    let wrong = 700 - (0..10).map(|digit| counted.run.usual[digit][digit]).sum::<u32>();
    assert_eq!(counted.misread.len(), MISREAD.min(wrong as usize));
    assert!(counted.misread.is_sorted_by(|a, b| a.sure >= b.sure));
    let test = synthetic::digits(1, 600, 700).test;
    for misread in &counted.misread {
        assert!(
            misread.label != misread.read
                && counted.run.usual[usize::from(misread.label)][usize::from(misread.read)] > 0
        );
        assert!((0.1..=1.0).contains(&misread.sure), "{}", misread.sure);
        assert!((0..700).any(|i| test.image(i) == misread.pixels && test.labels[i] == misread.label));
    }
}

#[test]
fn the_twin_and_the_digits_of_a_looked_at_step_are_counted_beside_the_run() {
    let mut thread = Thread::with_run(short());
    let events = thread.ask_and_settle(Request::StepOnce);
    let drawn =
        events.iter().find_map(|event| if let Event::Lot { lot, .. } = event { Some(lot.clone()) } else { None });
    let drawn = drawn.unwrap();
    thread.ask_and_settle(Request::TrainBaseline);
    let counted = thread.count();
    let open = counted.open.unwrap();
    assert_eq!((counted.run.step, open.step), (1, 60));
    assert_eq!(open.usual.iter().flatten().sum::<u32>(), 700);
    assert!(accuracy(&open.usual, None) > accuracy(&counted.run.usual, None));
    let (step, pulls) = counted.pulls.unwrap();
    assert_eq!((step, pulls.len()), (1, drawn.labels.len()));
    assert!(pulls.is_sorted_by(|a, b| a.norm >= b.norm) && pulls[0].norm > 0.0);
    for pull in &pulls {
        assert!((0..drawn.labels.len()).any(|i| drawn.digit(i) == pull.pixels && drawn.labels[i] == pull.label));
    }
    // Another run has another twin, and no step.
    thread.ask_and_settle(Request::Reset);
    let counted = thread.count();
    assert_eq!((counted.run.step, counted.open, counted.pulls), (0, None, None));
}

/// Images are turned here as by the native tool, before anything else; the page's ε is the same as
/// without a minority.
#[test]
fn a_minority_is_trained_on_as_any_session_trains_on_it_at_the_same_epsilon() {
    let config = RunConfig { minority: Minority::Turned, replay: Some(5), ..short() };
    let mut thread = Thread::with_run(config.clone());
    let report = Thread::last_report(&thread.ask_and_settle(Request::Play));
    let events = thread.ask_and_settle(Request::ExportParameters);
    let Some(Event::Parameters(parameters)) = events.last() else { panic!("{events:?}") };
    let digits = synthetic::digits(1, 600, 700);
    let alone = |config: RunConfig| {
        let train = config.minority.among(&digits.train);
        let plan = Plan::new(config, 600).unwrap();
        let engine = CpuEngine::new(plan.task.clone(), train, &plan.initial_parameters(), Performance::default());
        let mut session = Session::new(plan, engine.unwrap()).unwrap();
        (0..40).for_each(|_| futures_executor::block_on(session.step()).unwrap());
        futures_executor::block_on(session.engine().state()).unwrap().parameters
    };
    assert!(alone(config.clone()) == *parameters);
    assert!(alone(RunConfig { minority: Minority::None, ..config.clone() }) != *parameters);
    // Both groups are counted, for the run and its twin, which has the same minority.
    thread.ask_and_settle(Request::TrainBaseline);
    let counted = thread.count();
    assert_eq!(accuracy(&counted.run.usual, None), report.test_accuracy);
    for counts in [&counted.run, counted.open.as_ref().unwrap()] {
        assert_eq!(counts.turned.as_ref().unwrap().iter().flatten().sum::<u32>(), 700);
        assert!(accuracy(counts.turned.as_ref().unwrap(), None) < accuracy(&counts.usual, None));
    }
    // The cost and the ledger are the same.
    let bound = |minority| {
        let mut thread = Thread::with_run(RunConfig { minority, ..short() });
        let Privacy::Bounded(bound) = Thread::last_report(&thread.ask_and_settle(Request::Play)).privacy else {
            panic!()
        };
        let file = thread.ask_and_settle(Request::ExportLedger);
        let Some(Event::Ledger(ledger)) = file.last() else { panic!("{file:?}") };
        (bound, ledger.clone())
    };
    assert_eq!(bound(Minority::Turned), bound(Minority::None));
}

#[test]
fn a_run_with_a_minority_is_continued_on_the_same_images_and_refused_where_there_are_too_few() {
    let config = RunConfig { minority: Minority::Turned, replay: Some(5), steps: Some(40), ..short() };
    let whole = {
        let mut thread = Thread::with_run(config.clone());
        thread.ask_and_settle(Request::Play);
        thread.ask_and_settle(Request::ExportParameters)
    };
    let mut thread = Thread::with_run(config.clone());
    (0..3).for_each(|_| drop(thread.ask_and_settle(Request::StepOnce)));
    let key = thread.key.clone();
    let Some(Event::RunFile(text)) = thread.ask_and_settle(Request::ExportRun { key }).pop() else { panic!() };
    assert!(text.contains(r#""minority":"turned""#));
    let request = thread.continuing(text.into_bytes());
    thread.ask_and_settle(request);
    thread.ask_and_settle(Request::Play);
    assert!(thread.ask_and_settle(Request::ExportParameters).last() == whole.last());
    thread.load(DataRequest::Synthetic { seed: 1, train: 49, test: 20 });
    let events =
        thread.ask_and_settle(Request::Start { config: Box::new(RunConfig { lot: 8, ..config }), broken: None });
    let [problem] = Thread::problems(&events)[..] else { panic!("{events:?}") };
    assert_eq!((problem.field.as_deref(), problem.aside), (Some("minority"), false));
    assert!(problem.sentence.contains("fewer than fifty"), "{}", problem.sentence);
}

#[test]
fn a_twin_without_privacy_trains_beside_the_run_and_leaves_it_alone() {
    let mut thread = Thread::with_run(short());
    thread.ask_and_settle(Request::StepOnce);
    let events = thread.ask_and_settle(Request::TrainBaseline);
    let Some(Event::Baseline { model, steps, parameters }) = events.last() else { panic!("{events:?}") };
    assert_eq!((*steps, parameters.len()), (60, model.parameters()));
    let report = Thread::last_report(&thread.ask_and_settle(Request::StepOnce));
    assert_eq!(report.step, 2);
    // A new run does not wait for the old one's twin.
    thread.ask(Request::TrainBaseline);
    let events = thread.ask_and_settle(Request::Reset);
    assert!(!events.iter().any(|event| matches!(event, Event::Baseline { .. })), "{events:?}");
}

#[test]
fn a_twin_that_cannot_be_trained_is_called_off() {
    let mut thread = Thread::new(Vec::new());
    assert_eq!(thread.ask_and_settle(Request::TrainBaseline), [Event::NoBaseline], "there is no run yet");
    // The twin's rate is the product of both, too small for an f32.
    let tiny = RunConfig { learning_rate: 1e-30, encoder: EncoderSpec::Clip { norm: 1e-9 }, ..short() };
    let mut thread = Thread::with_run(tiny);
    let events = thread.ask_and_settle(Request::TrainBaseline);
    let [Event::Problem(problem), Event::NoBaseline] = &events[..] else { panic!("{events:?}") };
    assert!(problem.aside && problem.sentence.contains("learning-rate"), "{problem:?}");
}

fn short() -> RunConfig {
    RunConfig { lot: 60, steps: Some(40), learning_rate: 1.0, ..RunConfig::default() }
}

fn epsilon(report: &Report) -> f64 {
    let Privacy::Bounded(bound) = &report.privacy else { panic!("no bound: {:?}", report.privacy) };
    bound.improved.epsilon
}

#[test]
fn a_planned_run_completes_and_its_ledger_gives_the_same_epsilon() {
    let mut thread = Thread::with_run(short());
    let events = thread.ask_and_settle(Request::Play);
    let report = Thread::last_report(&events);
    assert_eq!(report.step, 40);
    assert!(report.complete);
    assert!(report.test_accuracy.unwrap() > 0.3, "it learns: {report:?}");
    assert!(matches!(events.iter().rfind(|e| matches!(e, Event::Playing(_))), Some(Event::Playing(false))));
    let events = thread.ask_and_settle(Request::ExportLedger);
    let [Event::Ledger(json)] = &events[..] else { panic!("{events:?}") };
    let ledger = Ledger::from_json(json).unwrap();
    assert_eq!(ledger.steps(), 40);
    let again = rdp::epsilon_of(&ledger, 1e-5).unwrap().improved.epsilon;
    assert!((again - epsilon(&report)).abs() <= 1e-9, "{again} against {report:?}");
}

#[test]
fn one_step_is_one_step_and_a_reset_spends_nothing() {
    let mut thread = Thread::with_run(short());
    let events = thread.ask_and_settle(Request::StepOnce);
    assert_eq!(Thread::last_report(&events).step, 1);
    let traces: Vec<_> = events.iter().filter(|e| matches!(e, Event::Snapshot { step: 1, .. })).collect();
    assert_eq!(traces.len(), 1);
    let first = epsilon(&Thread::last_report(&events));
    let second = epsilon(&Thread::last_report(&thread.ask_and_settle(Request::StepOnce)));
    assert!(second > first);
    let events = thread.ask_and_settle(Request::Reset);
    let report = Thread::last_report(&events);
    assert_eq!((report.step, epsilon(&report)), (0, 0.0));
}

/// The stage shows the same step as the numbers of the run's end.
#[test]
fn the_last_planned_step_is_taken_apart_where_lots_are_shown() {
    let lots_of = |events: &[Event]| -> Vec<u64> {
        events.iter().filter_map(|e| if let Event::Lot { step, .. } = e { Some(*step) } else { None }).collect()
    };
    for lots in [true, false] {
        let mut thread = Thread::new(vec![]);
        thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: false, lots });
        thread.load(DataRequest::Synthetic { seed: 1, train: 600, test: 700 });
        let start = Request::Start { config: Box::new(RunConfig { steps: Some(12), ..short() }), broken: None };
        // A run that waits shows what its first step would be; nothing of it is released.
        let events = thread.ask_and_settle(start.clone());
        assert_eq!(lots_of(&events), if lots { vec![0] } else { vec![] });
        let ledger =
            events.iter().find_map(|e| if let Event::LedgerOpened { step, .. } = e { Some(*step) } else { None });
        assert_eq!(ledger, Some(0));
        thread.ask(start);
        let events = thread.ask_and_settle(Request::Play);
        assert_eq!(lots_of(&events), if lots { vec![12] } else { vec![] });
        assert!(Thread::last_report(&events).complete);
        // A single step is traced for all, but its digits go only to those who show them.
        thread.ask_and_settle(Request::Reset);
        let events = thread.ask_and_settle(Request::StepOnce);
        assert!(events.iter().any(|e| matches!(e, Event::Snapshot { step: 1, .. })), "{events:?}");
        assert_eq!(lots_of(&events), if lots { vec![1] } else { vec![] });
    }
}

#[test]
fn a_pause_freezes_step_and_epsilon() {
    let mut thread = Thread::with_run(RunConfig { steps: None, ..short() });
    thread.ask(Request::Play);
    // Some turns of play, then a pause in mid-run.
    thread.pool.run_until(turns(20));
    let events = thread.ask_and_settle(Request::Pause);
    let report = Thread::last_report(&events);
    assert!(report.test_accuracy.is_some(), "a pause measures where it stands");
    assert!(thread.settle().is_empty(), "nothing happens while paused");
    let again = Thread::last_report(&thread.ask_and_settle(Request::StepOnce));
    assert_eq!(again.step, report.step + 1);
}

#[test]
fn refusals_name_the_field_and_change_nothing() {
    let mut thread = Thread::with_run(short());
    thread.ask_and_settle(Request::StepOnce);
    let gaussian = |sigma| Some(NoiseSpec::Gaussian { sigma });
    let bad = [
        ("lot", RunConfig { lot: 0, ..short() }),
        ("lot", RunConfig { lot: 601, ..short() }),
        ("delta", RunConfig { delta: 0.0, ..short() }),
        ("delta", RunConfig { delta: 1.0, ..short() }),
        ("delta", RunConfig { delta: f64::NAN, ..short() }),
        ("learning-rate", RunConfig { learning_rate: f64::NAN, ..short() }),
        ("learning-rate", RunConfig { learning_rate: -1.0, ..short() }),
        ("momentum", RunConfig { momentum: 1.0, ..short() }),
        ("steps", RunConfig { steps: Some(0), ..short() }),
        ("noise", RunConfig { noise: gaussian(0.0), ..short() }),
        ("noise", RunConfig { noise: gaussian(-1.0), ..short() }),
        ("noise", RunConfig { noise: gaussian(f64::NAN), ..short() }),
        ("noise", RunConfig { noise: gaussian(f64::INFINITY), ..short() }),
        ("noise", RunConfig { noise: Some(NoiseSpec::StudentT { nu: 2.0, scale: 1.0 }), ..short() }),
        ("encoder.norm", RunConfig { encoder: EncoderSpec::Clip { norm: 0.0 }, ..short() }),
        (
            "encoder",
            RunConfig {
                encoder: EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 0, pre_scale: 1.0, seed: 0 },
                ..short()
            },
        ),
        ("denoiser", RunConfig { noise: None, denoiser: Denoiser::KolmogorovSmirnov, ..short() }),
    ];
    for (field, config) in bad {
        let events = thread.ask_and_settle(Request::Start { config: Box::new(config.clone()), broken: None });
        let problems = Thread::problems(&events);
        assert_eq!(problems.len(), 1, "{config:?}: {events:?}");
        assert_eq!(problems[0].field.as_deref(), Some(field), "{problems:?}");
        assert_eq!(events.len(), 1, "nothing else happened: {events:?}");
    }
    let report = Thread::last_report(&thread.ask_and_settle(Request::StepOnce));
    assert_eq!(report.step, 2, "the run before is still there");
}

#[test]
fn no_epsilon_without_noise_bound_or_secrecy() {
    let runs = [
        RunConfig { noise: None, ..short() },
        RunConfig { encoder: EncoderSpec::None, ..short() },
        RunConfig { replay: Some(7), ..short() },
    ];
    for config in runs {
        let mut thread = Thread::with_run(config.clone());
        let report = Thread::last_report(&thread.ask_and_settle(Request::StepOnce));
        assert!(matches!(report.privacy, Privacy::NoGuarantee { .. }), "{config:?}: {report:?}");
        assert_eq!(Thread::problems(&thread.ask_and_settle(Request::ExportLedger)).len(), 1);
    }
}

#[test]
fn a_replayed_run_repeats_itself() {
    let run = || {
        let mut thread = Thread::with_run(RunConfig { replay: Some(7), ..short() });
        thread.ask_and_settle(Request::Play);
        let events = thread.ask_and_settle(Request::ExportParameters);
        let [Event::Parameters(parameters)] = &events[..] else { panic!("{events:?}") };
        parameters.clone()
    };
    assert_eq!(run(), run());
}

#[test]
fn a_site_without_mnist_trains_on_drawn_digits_and_says_so() {
    let mut thread = Thread::new(Vec::new());
    thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
    let events = thread.load(site());
    assert!(events.iter().any(|e| matches!(e, Event::Notice(_))), "{events:?}");
    assert!(events.iter().any(|e| matches!(e, Event::Loaded { complete: true, .. })), "{events:?}");
}

#[test]
fn a_server_that_fails_is_not_a_site_without_mnist() {
    let mut thread = Thread::new(Vec::new());
    thread.page.down.set(true);
    thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
    let events = thread.load(site());
    assert!(!events.iter().any(|e| matches!(e, Event::Notice(_))), "{events:?}");
    let named = |e: &Event| matches!(e, Event::NotLoaded { over: false, sentence, .. } if sentence.contains("500"));
    assert!(events.iter().any(named), "{events:?}");
    assert!(events.iter().any(|e| matches!(e, Event::Loaded { complete: true, .. })), "{events:?}");
}

#[test]
fn a_damaged_file_is_named_and_the_digits_before_stay() {
    let mut thread = Thread::with_run(short());
    let events = thread.load_files(&damaged());
    let [Event::NotLoaded { load: 2, over: true, sentence }] = &events[..] else { panic!("{events:?}") };
    assert!(sentence.contains("mine-images-idx3-ubyte"), "{sentence}");
    let report = Thread::last_report(&thread.ask_and_settle(Request::StepOnce));
    assert_eq!(report.step, 1);
}

#[test]
fn a_refused_file_leaves_the_load_that_is_under_way_alone() {
    let files = shards("refused");
    // Before anything has arrived, before the test images have, and while a run waits for the rest.
    for before in [0, 2, 3] {
        let mut thread = Thread::with_slow_site(files.clone());
        for _ in 0..before {
            thread.one_arrives();
        }
        if before == 3 {
            assert_eq!(
                started(&thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None })).train,
                10_000
            );
        }
        let events = thread.load_files(&damaged());
        assert!(matches!(&events[..], [Event::NotLoaded { load: 2, over: true, .. }]), "{events:?}");
        let mut events = vec![];
        for _ in before..4 {
            events.extend(thread.one_arrives());
        }
        assert!(events.iter().any(|e| matches!(e, Event::Loading { done, total } if done == total)), "{events:?}");
        let loaded = |e: &Event| matches!(e, Event::Loaded { load: 1, train: 10_050, complete: true, .. });
        assert!(events.iter().any(loaded), "{before}: {events:?}");
        if before == 3 {
            assert_eq!(started(&events).train, 10_050, "the run at step 0 takes the fuller data");
        }
        // Nothing is loading, so a run could be continued: it is the file that is refused.
        let events = thread.ask_and_settle(thread.continuing(b"nothing".to_vec()));
        assert!(Thread::problems(&events)[0].sentence.contains("is not a run file"), "{events:?}");
    }
}

/// On a part of the digits each would be drawn more often, as long as the run lasts.
#[test]
fn the_first_step_waits_for_all_digits() {
    let files = shards("patience");
    let without_the_last: Vec<_> = files.iter().filter(|(name, _)| !name.starts_with("train-01")).cloned().collect();
    for (files, train) in [(files, 10_050), (without_the_last, 10_000)] {
        for request in [Request::Play, Request::StepOnce] {
            let mut thread = Thread::with_slow_site(files.clone());
            (0..3).for_each(|_| drop(thread.one_arrives()));
            assert_eq!(
                started(&thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None })).train,
                10_000
            );
            let events = thread.ask_and_settle(request.clone());
            let stepped = |e: &Event| matches!(e, Event::Report(report, _) if report.step > 0);
            assert!(!events.iter().any(stepped), "{request:?}: {events:?}");
            let events = thread.one_arrives();
            assert!(events.iter().any(stepped), "{request:?}: {events:?}");
            assert_eq!(started(&events).train, train);
        }
        // A pause cancels the wait.
        let mut thread = Thread::with_slow_site(files.clone());
        (0..3).for_each(|_| drop(thread.one_arrives()));
        thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
        for request in [Request::StepOnce, Request::Play, Request::Pause] {
            thread.ask_and_settle(request);
        }
        assert_eq!(Thread::last_report(&thread.one_arrives()).step, 0);
    }
}

#[test]
fn a_superseded_load_sends_no_events() {
    let whole = shards("overtaken");
    let without_the_last = whole.iter().filter(|(name, _)| !name.starts_with("train-01")).cloned().collect();
    for files in [whole, without_the_last] {
        let mut thread = Thread::with_slow_site(files);
        for _ in 0..3 {
            thread.one_arrives();
        }
        let events = thread.load(DataRequest::Synthetic { seed: 1, train: 600, test: 700 });
        assert!(matches!(&events[..], [Event::Loaded { load: 2, train: 600, complete: true, .. }]), "{events:?}");
        assert_eq!(thread.one_arrives(), [], "neither bytes nor digits nor errors");
        assert_eq!(
            started(&thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None })).train,
            600
        );
    }
}

#[test]
fn a_missing_shard_is_named_and_the_load_goes_on() {
    let files = shards("missing").into_iter().filter(|(name, _)| !name.starts_with("train-01")).collect();
    let mut thread = Thread::with_slow_site(files);
    let events: Vec<_> = (0..4).flat_map(|_| thread.one_arrives()).collect();
    let gap = |e: &Event| matches!(e, Event::NotLoaded { over: false, sentence, .. } if sentence.contains("train-01"));
    assert!(events.iter().any(gap), "{events:?}");
    assert!(matches!(events.last(), Some(Event::Loaded { train: 10_000, complete: true, .. })), "{events:?}");
}

#[test]
fn wrong_cached_files_are_fetched_anew_and_only_valid_ones_kept() {
    let files = shards("stale");
    let all = files.len();
    let mut thread = Thread::new(files);
    thread.page.stale.set(true);
    thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
    let events = thread.load(site());
    assert!(matches!(events.last(), Some(Event::Loaded { complete: true, .. })), "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, Event::NotLoaded { .. })), "{events:?}");
    assert_eq!(thread.page.kept.borrow().len(), all);

    let files = shards("broken").into_iter().map(|(name, bytes)| match name.starts_with("train-01") {
        true => (name, b"<!doctype html>".to_vec()),
        false => (name, bytes),
    });
    let mut thread = Thread::new(files.collect());
    thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
    thread.load(site());
    let kept = thread.page.kept.borrow();
    assert_eq!(kept.len(), all - 1, "{kept:?}");
    assert!(!kept.iter().any(|url| url.contains("train-01")), "{kept:?}");
}

#[test]
fn invalid_drawings_are_refused() {
    let mut thread = Thread::with_run(short());
    for pixels in [vec![0.0; 783], vec![f32::NAN; 784], vec![2.0; 784]] {
        assert_eq!(Thread::problems(&thread.ask_and_settle(Request::Predict { pixels })).len(), 1);
    }
    let events = thread.ask_and_settle(Request::Predict { pixels: vec![0.5; 784] });
    let [Event::Prediction(classes)] = &events[..] else { panic!("{events:?}") };
    assert!((classes.iter().sum::<f32>() - 1.0).abs() < 1e-5);
}

/// Takes a step and exports the current run as a file.
fn save(thread: &mut Thread) -> Vec<u8> {
    thread.ask_and_settle(Request::StepOnce);
    let events = thread.ask_and_settle(Request::ExportRun { key: thread.key.clone() });
    let [Event::RunFile(file)] = &events[..] else { panic!("{events:?}") };
    RunFile::from_json("saved", file.as_bytes()).unwrap();
    file.as_bytes().to_vec()
}

fn started(events: &[Event]) -> &RunInfo {
    events.iter().find_map(|e| if let Event::Started(info) = e { Some(info) } else { None }).unwrap()
}

#[test]
fn a_continued_run_equals_an_uninterrupted_one() {
    let config = RunConfig { replay: Some(7), momentum: 0.9, ..short() };
    let end = |thread: &mut Thread| {
        let report = Thread::last_report(&thread.ask_and_settle(Request::Play));
        assert_eq!((report.step, report.complete), (40, true));
        let events = thread.ask_and_settle(Request::ExportParameters);
        let [Event::Parameters(parameters)] = &events[..] else { panic!("{events:?}") };
        parameters.clone()
    };
    let mut thread = Thread::with_run(config.clone());
    thread.ask_and_settle(Request::StepOnce);
    let file = save(&mut thread);
    let whole = end(&mut thread);
    let mut other = Thread::with_run(short());
    let events = other.ask_and_settle(other.continuing(file));
    assert_eq!(started(&events).config, config);
    assert_eq!(Thread::last_report(&events).step, 2);
    assert_eq!(end(&mut other), whole);
}

#[test]
fn the_ledger_of_a_continued_run_holds_what_was_released_before() {
    let mut thread = Thread::with_run(short());
    let file = save(&mut thread);
    let first = RunFile::from_json("f", &file).unwrap();
    assert_eq!(first.ledger.as_ref().map(Ledger::steps), Some(1));

    let mut other = Thread::with_run(short());
    other.ask_and_settle(other.continuing(file.clone()));
    let report = Thread::last_report(&other.ask_and_settle(Request::StepOnce));
    assert_eq!(report.step, 2);
    let events = other.ask_and_settle(Request::ExportLedger);
    let [Event::Ledger(json)] = &events[..] else { panic!("{events:?}") };
    let ledger = Ledger::from_json(json).unwrap();
    assert_eq!((ledger.steps(), ledger.releases().len()), (2, 1));
    let again = rdp::epsilon_of(&ledger, 1e-5).unwrap().improved.epsilon;
    assert!((again - epsilon(&report)).abs() <= 1e-9);

    // With fewer digits each is drawn more often: another release, and both count.
    other.load(DataRequest::Synthetic { seed: 2, train: 300, test: 100 });
    let events = other.ask_and_settle(other.continuing(file.clone()));
    assert!(events.iter().any(|e| matches!(e, Event::Notice(text) if text.contains("600 images"))), "{events:?}");
    let other_report = Thread::last_report(&other.ask_and_settle(Request::StepOnce));
    assert!(epsilon(&other_report) > epsilon(&report));
    // The plan knows only the second release: nothing may be priced by it.
    let events = other.ask_and_settle(Request::ExportLedger);
    let [Event::Ledger(json)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(Ledger::from_json(json).unwrap().releases().len(), 2);

    // A refused file leaves the current run alone.
    let damaged = other.continuing(file[..file.len() / 2].to_vec());
    assert_eq!(Thread::problems(&other.ask_and_settle(damaged)).len(), 1);
    assert_eq!(Thread::last_report(&other.ask_and_settle(Request::StepOnce)).step, 3);
}

/// The partition is in no file, so the open epoch is paid for, and the books begin the next.
#[test]
fn a_shuffled_run_that_is_continued_begins_an_epoch() {
    let config = RunConfig { sampling: SamplingPolicy::Shuffled, ..short() };
    let mut thread = Thread::with_run(config.clone());
    let file = save(&mut thread);
    let one = epsilon(&Thread::last_report(&thread.ask_and_settle(Request::StepOnce)));
    let mut other = Thread::with_run(short());
    other.ask_and_settle(other.continuing(file));
    let again = RunFile::from_json("f", &save(&mut other)).unwrap();
    // Ten batches of 60 in 600: nine that were not drawn, and the first of the next epoch.
    assert_eq!((again.run.report.step, again.ledger.as_ref().map(Ledger::steps)), (2, Some(11)));
    assert!(epsilon(&again.run.report) > one);
}

/// Groups and recent noise are in no file: a new sequence begins, and both are paid for.
#[test]
fn a_run_with_correlated_noise_that_is_continued_begins_a_sequence() {
    let config = RunConfig { bands: 4, ..short() };
    let mut thread = Thread::with_run(config);
    let two = epsilon(&Thread::last_report(&thread.ask_and_settle(Request::StepOnce)));
    let file = save(&mut thread);
    let text = String::from_utf8(file.clone()).unwrap();
    assert!(text.contains(r#""bands":4"#) && text.contains("cyclic-poisson") && !text.contains("past"));
    let read = RunFile::from_json("f", &file).unwrap();
    assert_eq!((epsilon(&read.run.report), read.ledger.as_ref().map(Ledger::steps)), (two, Some(2)));
    let mut other = Thread::with_run(short());
    assert_eq!(epsilon(&Thread::last_report(&other.ask_and_settle(other.continuing(file)))), two);
    let again = RunFile::from_json("f", &save(&mut other)).unwrap();
    // An abandoned cycle of four, of which two steps were taken, and the first of the next.
    assert_eq!((again.run.report.step, again.ledger.as_ref().map(Ledger::steps)), (3, Some(5)));
    assert!(epsilon(&again.run.report) > two);
}

/// Sampled values are for the screen: the page gets them beside the report, and no file holds them.
#[test]
fn sampled_values_reach_the_page_but_no_file() {
    let mut thread = Thread::with_run(short());
    let events = thread.ask_and_settle(Request::StepOnce);
    let drawn = events.iter().rev().find_map(|e| if let Event::Report(_, t) = e { Some(*t) } else { None }).unwrap();
    assert!(drawn.lot_size > 0 && drawn.training_seconds > 0.0, "{drawn:?}");
    let file = save(&mut thread);
    let text = String::from_utf8(file.clone()).unwrap();
    for secret in ["lot-size", "examples-per-second", "non-finite"] {
        assert!(!text.contains(secret), "{secret}");
    }
    // Public digits are marked as such.
    let report = RunFile::from_json("f", &file).unwrap().run.report;
    assert_eq!(report.test_set, Some(hushgrad::data::TestSet::Public));
    // Two digits of the seconds: more would reveal how large lots were.
    let seconds = format!("{:e}", report.training_seconds);
    assert!(seconds.split('e').next().unwrap().len() <= 3, "{seconds}");
    let events = thread.ask_and_settle(thread.continuing(file));
    let (before, after) = (report.training_seconds, Thread::last_report(&events).training_seconds);
    assert!(after >= before && after < before + 0.1, "{before} {after}");
}

#[test]
fn every_message_survives_postcard() {
    let mut thread = Thread::with_run(short());
    let mut events = thread.ask_and_settle(Request::StepOnce);
    events.extend(
        thread.ask_and_settle(Request::Start { config: Box::new(RunConfig { lot: 0, ..short() }), broken: None }),
    );
    events.extend(thread.ask_and_settle(Request::ExportLedger));
    events.extend(thread.load_files(&damaged()));
    for event in events {
        let bytes = postcard::to_allocvec(&event).unwrap();
        assert_eq!(postcard::from_bytes::<Event>(&bytes).unwrap(), event);
    }
    let envelope = EncoderSpec::Envelope { shape: EnvelopeShape::Mixed, vectors: 3, pre_scale: 1.0, seed: 1 };
    let request = Request::Start { config: Box::new(RunConfig { encoder: envelope, ..short() }), broken: None };
    let bytes = postcard::to_allocvec(&request).unwrap();
    assert_eq!(postcard::from_bytes::<Request>(&bytes).unwrap(), request);
}

/// If WebGPU was requested and something is wrong, the CPU computes, and the page is told why.
#[cfg(feature = "gpu")]
mod off_the_gpu {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use hushgrad::{
        data::idx::{self, Kind},
        engine::{Backend, Timings, gpu::Gpu},
        model::Architecture,
        train::config::Augmentation,
        worker::protocol::Fallback,
    };

    use super::*;

    /// The device is the process's: one test at a time uses it.
    static DEVICE: Mutex<()> = Mutex::new(());

    /// Opens the backend and loads digits; `None` without an adapter.
    fn opened() -> Option<(MutexGuard<'static, ()>, Gpu, Thread)> {
        opened_for(BackendChoice::Gpu)
    }

    fn opened_for(backend: BackendChoice) -> Option<(MutexGuard<'static, ()>, Gpu, Thread)> {
        let alone = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
        let gpu = adapter::device()?;
        let mut thread = Thread::new(Vec::new());
        let events = thread.ask_and_settle(Request::Open { backend, cores: None, keep: true, lots: true });
        let [Event::Opened { engine, fallback: None }] = &events[..] else { panic!("{events:?}") };
        assert_eq!(engine.backend, Backend::Gpu);
        thread.load(DataRequest::Synthetic { seed: 1, train: 600, test: 700 });
        Some((alone, gpu, thread))
    }

    fn lose(gpu: &Gpu) {
        gpu.device().destroy();
        // Natively a loss shows only on waiting for the device, whether the wait fails or not.
        let _ = gpu.device().poll(wgpu::PollType::wait_indefinitely());
        assert!(gpu.check().is_err());
    }

    /// Why the CPU computes, as last reported.
    fn told(events: &[Event]) -> &Fallback {
        let told = events.iter().rev().find_map(|event| match event {
            Event::Opened { engine, fallback: Some(fallback) } if engine.backend == Backend::Cpu => Some(fallback),
            _ => None,
        });
        told.unwrap_or_else(|| panic!("nothing was told in {events:?}"))
    }

    fn notice(events: &[Event]) -> Option<&Message> {
        events.iter().find_map(|event| if let Event::Notice(sentence) = event { Some(sentence) } else { None })
    }

    #[test]
    fn runs_start_after_an_idle_device_is_lost() {
        let louder = RunConfig { noise: Some(NoiseSpec::Gaussian { sigma: 2.0 }), ..short() };
        for case in ["first run", "reset", "other settings", "other digits", "continued run"] {
            let Some((_alone, gpu, mut thread)) = opened() else { return };
            if case != "first run" {
                let events = thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
                assert_eq!(started(&events).engine.backend, Backend::Gpu, "{case}");
            }
            let (request, config) = match case {
                "first run" => (Request::Start { config: Box::new(short()), broken: None }, short()),
                "reset" => {
                    thread.ask_and_settle(Request::StepOnce);
                    (Request::Reset, short())
                }
                "other settings" => (Request::Start { config: Box::new(louder.clone()), broken: None }, louder.clone()),
                "other digits" => {
                    let from = DataRequest::Synthetic { seed: 2, train: 500, test: 100 };
                    (Request::Load { load: 2, from }, short())
                }
                _ => {
                    let bytes = save(&mut thread);
                    (thread.continuing(bytes), short())
                }
            };
            lose(&gpu);
            let events = thread.ask_and_settle(request);
            assert!(Thread::problems(&events).is_empty(), "{case}: {events:?}");
            let info = started(&events);
            assert_eq!((info.engine.backend, &info.config), (Backend::Cpu, &config), "{case}");
            let Fallback { reason, webgpu } = told(&events);
            assert!(reason.contains("graphics device was lost") && *webgpu, "{case}: {reason}");
            assert!(
                notice(&events).is_some_and(|sentence| sentence.contains(&reason.to_string())),
                "{case}: {events:?}"
            );
            let report = Thread::last_report(&thread.ask_and_settle(Request::Play));
            assert_eq!((report.step, report.complete), (40, true), "{case}");
        }
    }

    #[test]
    fn a_run_whose_device_is_lost_goes_on_and_counts_every_step() {
        let Some((_alone, gpu, mut thread)) = opened() else { return };
        thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
        thread.ask_and_settle(Request::StepOnce);
        lose(&gpu);
        let events = thread.ask_and_settle(Request::StepOnce);
        let problems = Thread::problems(&events);
        assert!(problems[0].sentence.contains("continues on the CPU from its last checkpoint"), "{events:?}");
        assert!(told(&events).reason.contains("graphics device was lost"));
        let events = thread.ask_and_settle(Request::TrainBaseline);
        assert!(matches!(events.last(), Some(Event::Baseline { .. })), "{events:?}");
        assert_eq!(Thread::last_report(&thread.ask_and_settle(Request::Play)).step, 40);
        let events = thread.ask_and_settle(Request::ExportLedger);
        let [Event::Ledger(json)] = &events[..] else { panic!("{events:?}") };
        assert_eq!(Ledger::from_json(json).unwrap().steps(), 40);
    }

    #[test]
    fn a_lost_device_forgets_no_shown_step() {
        let begin = || {
            let (alone, gpu, mut thread) = opened()?;
            thread.ask_and_settle(Request::Start { config: Box::new(books::endless()), broken: None });
            Some((thread, (alone, gpu)))
        };
        books::no_step_is_forgotten(&books::MOMENTS[..5], begin, |thread, (_alone, gpu)| {
            lose(&gpu);
            let mut events = Vec::new();
            while Thread::problems(&events).is_empty() {
                events.extend(books::play(thread, 10));
            }
            let sentence = &Thread::problems(&events)[0].sentence;
            assert!(sentence.contains("continues on the CPU from its last checkpoint"), "{sentence}");
            events
        });
    }

    fn times(events: &[Event]) -> Vec<Option<Timings>> {
        events.iter().filter_map(|event| if let Event::Timed(timed) = event { Some(*timed) } else { None }).collect()
    }

    #[test]
    fn the_faster_engine_trains_unless_one_is_named() {
        {
            let Some((_alone, _, mut thread)) = opened() else { return };
            let events = thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
            assert_eq!((started(&events).engine.backend, times(&events)), (Backend::Gpu, vec![]));
        }
        let Some((_alone, _, mut thread)) = opened_for(BackendChoice::Automatic) else { return };
        let start = || Request::Start { config: Box::new(short()), broken: None };
        let events = thread.ask_and_settle(start());
        let [Some(timed)] = times(&events)[..] else { panic!("{events:?}") };
        assert!(timed.cpu > 0.0 && timed.gpu > 0.0 && timed.cpu.max(timed.gpu) < 1e4, "{timed:?}");
        let faster = if timed.cpu < timed.gpu { Backend::Cpu } else { Backend::Gpu };
        assert_eq!(started(&events).engine.backend, faster, "{timed:?}");
        // Timing released nothing, and its result is remembered.
        assert!(Thread::problems(&events).is_empty() && notice(&events).is_none(), "{events:?}");
        assert_eq!(Thread::last_report(&thread.ask_and_settle(Request::StepOnce)).step, 1);
        let events = thread.ask_and_settle(start());
        assert_eq!((started(&events).engine.backend, times(&events)), (faster, vec![]));
        // Another kind of step is timed, too; one that WebGPU does not support runs on the CPU
        // untimed.
        let larger = RunConfig { model: Architecture::Mlp, ..short() };
        let events = thread.ask_and_settle(Request::Start { config: Box::new(larger), broken: None });
        assert!(matches!(times(&events)[..], [Some(other)] if other != timed), "{events:?}");
        let augmented = RunConfig { augmentation: Some(Augmentation { copies: 2, reach: 1 }), ..short() };
        let events = thread.ask_and_settle(Request::Start { config: Box::new(augmented), broken: None });
        assert_eq!((started(&events).engine.backend, times(&events)), (Backend::Cpu, vec![None]));
        assert!(told(&events).reason.contains("augmentation"), "{events:?}");
    }

    /// Also before its first evaluation: then there is only the state that it was continued with.
    #[test]
    fn a_continued_run_whose_device_is_lost_at_once_keeps_its_parameters() {
        let Some((_alone, gpu, mut thread)) = opened() else { return };
        thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
        for _ in 0..4 {
            thread.ask_and_settle(Request::StepOnce);
        }
        let file = save(&mut thread);
        let saved = RunFile::from_json("f", &file).unwrap();
        thread.ask(thread.continuing(file));
        // Before its first evaluation, however fast that is.
        *thread.page.at_start.borrow_mut() = Some(Box::new(move || lose(&gpu)));
        let events = thread.settle();
        let sentence = &Thread::problems(&events)[0].sentence;
        assert!(sentence.contains("parameters after step 5 of 5"), "{sentence}");
        let events = thread.ask_and_settle(Request::ExportParameters);
        assert!(matches!(&events[..], [Event::Parameters(now)] if *now == saved.parameters), "{sentence}");
    }

    #[test]
    fn a_run_that_is_too_large_for_the_device_is_trained_on_the_cpu_and_the_next_is_not() {
        let Some((_alone, _, mut thread)) = opened() else { return };
        let file = |name: &str, kind, count: usize, bytes: usize| {
            let mut file = idx::header(kind, count as u32);
            file.resize(file.len() + count * bytes, 0);
            (name.to_owned(), file)
        };
        // More bytes of images than this program uses on any device.
        let files = vec![
            file("train-images", Kind::Images, 330_000, PIXELS),
            file("train-labels", Kind::Labels, 330_000, 1),
            file("test-images", Kind::Images, 10, PIXELS),
            file("test-labels", Kind::Labels, 10, 1),
        ];
        thread.load_files(&files);
        let events = thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
        assert!(Thread::problems(&events).is_empty(), "{events:?}");
        let info = started(&events);
        assert_eq!((info.engine.backend, info.train), (Backend::Cpu, 330_000));
        let Fallback { reason, webgpu } = told(&events);
        assert!(reason.contains("in one piece") || reason.contains("this program uses at most"), "{reason}");
        assert!(*webgpu);
        assert!(notice(&events).is_some_and(|sentence| sentence.contains(&reason.to_string())), "{events:?}");
        assert_eq!(Thread::last_report(&thread.ask_and_settle(Request::StepOnce)).step, 1);

        thread.load(DataRequest::Synthetic { seed: 1, train: 600, test: 700 });
        let events = thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
        assert_eq!(started(&events).engine.backend, Backend::Gpu);
        let back = |e: &Event| matches!(e, Event::Opened { engine, fallback: None } if engine.backend == Backend::Gpu);
        assert!(events.iter().any(back), "{events:?}");
    }
}
