//! Books are written ahead: whenever a thread dies, what is kept counts every step that was shown.

use std::rc::Rc;

use hushgrad::{
    accounting::{books::account, ledger::Ledger},
    train::{config::RunConfig, report::Report, run_file::RunFile},
    worker::{
        accounts::{Accounts, Answer, Question},
        protocol::{BackendChoice, DataRequest, Event, KeptRun, Label, Request},
        run_store::{Change, Record, StoreError},
    },
};

use super::{Browser, Says, Thread, epsilon, save, short, started, turns};

pub fn endless() -> RunConfig {
    RunConfig { steps: None, ..short() }
}

/// The last report, if there is any.
fn last(events: &[Event]) -> Option<Report> {
    events.iter().rev().find_map(|e| if let Event::Report(r, _) = e { Some(r.clone()) } else { None })
}

fn kept(events: &[Event]) -> Vec<&KeptRun> {
    events.iter().filter_map(|e| if let Event::Kept(run) = e { Some(&**run) } else { None }).collect()
}

fn notice(events: &[Event]) -> String {
    events.iter().filter_map(|e| if let Event::Notice(text) = e { Some(text.to_string()) } else { None }).collect()
}

fn sentence(events: &[Event]) -> String {
    Thread::problems(events).first().map_or(String::new(), |problem| problem.sentence.to_string())
}

/// Plays for `count` turns, and returns the events.
pub fn play(thread: &mut Thread, count: u32) -> Vec<Event> {
    thread.ask(Request::Play);
    thread.pool.run_until(turns(count));
    thread.page.events.take()
}

fn record(thread: &Thread, key: &str) -> Record {
    thread.page.browser.kept.borrow().read(key).unwrap().clone()
}

/// Edits a stored record.
fn change(browser: &Browser, key: &str, edit: impl FnOnce(&mut Record)) {
    let mut record = browser.kept.borrow().read(key).unwrap().clone();
    edit(&mut record);
    browser.kept.borrow_mut().write(vec![Change::Begin { key: key.to_owned(), record }]).unwrap();
}

/// A new visit: what it is told of kept runs, with digits for the next run.
fn visit(browser: &Rc<Browser>) -> (Thread, Vec<Event>) {
    let mut thread = Thread::in_browser(browser.clone(), Vec::new());
    let events =
        thread.ask_and_settle(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
    thread.load(DataRequest::Synthetic { seed: 1, train: 600, test: 700 });
    (thread, events)
}

fn ledger(thread: &mut Thread) -> Ledger {
    let events = thread.ask_and_settle(Request::ExportLedger);
    let [Event::Ledger(json)] = &events[..] else { panic!("{events:?}") };
    Ledger::from_json(json).unwrap()
}

/// Brings a run to a moment, and returns the events.
type Reach = fn(&mut Thread) -> Vec<Event>;

/// The first five are soon reached on any engine; the last takes seconds, until the run is saved.
pub const MOMENTS: [(&str, Reach); 7] = [
    ("before the first block", |thread| play(thread, 1)),
    ("within the first block", |thread| play(thread, 5)),
    ("at a pause", paused),
    ("on from a pause", |thread| [paused(thread), play(thread, 10)].concat()),
    ("after it was continued", |thread| {
        let (mut events, key) = (thread.ask_and_settle(Request::StepOnce), thread.key.clone());
        for request in [Request::Reset, Request::Continue { key }] {
            events.extend(thread.ask_and_settle(request));
        }
        [events, play(thread, 10)].concat()
    }),
    ("within another block", |thread| play(thread, 60)),
    ("after a save", |thread| {
        let mut events = play(thread, 5);
        let file = |thread: &Thread| record(thread, &thread.key).file;
        let first = file(thread);
        while file(thread) == first {
            events.extend(play(thread, 10));
        }
        events
    }),
];

fn paused(thread: &mut Thread) -> Vec<Event> {
    [play(thread, 10), thread.ask_and_settle(Request::Pause)].concat()
}

const fn counts(run: &KeptRun) -> u64 {
    run.card.report.step + run.beyond
}

/// Brings a run to each moment, lets `fail` happen, and ends the thread: the next visit counts
/// every step that was shown, also once the run continues.
pub fn no_step_is_forgotten<T>(
    moments: &[(&str, Reach)],
    begin: impl Fn() -> Option<(Thread, T)>,
    fail: impl Fn(&mut Thread, T) -> Vec<Event>,
) {
    let mut lost_some = 0;
    for (moment, reach) in moments {
        let Some((mut thread, with)) = begin() else { return };
        let mut events = reach(&mut thread);
        events.extend(fail(&mut thread, with));
        let reports = events.iter().filter_map(|e| if let Event::Report(report, _) = e { Some(report) } else { None });
        let Some(shown) = reports.max_by_key(|report| report.step).filter(|report| report.step > 0) else {
            assert_eq!(*moment, MOMENTS[0].0, "nothing was shown");
            continue;
        };
        let (browser, key) = (thread.page.browser.clone(), thread.key.clone());
        drop(thread);
        *browser.says.borrow_mut() = Says::Yes;

        let (mut next, listed) = visit(&browser);
        let count = kept(&listed).len();
        let run = kept(&listed).into_iter().find(|run| run.key == key);
        let run = run.unwrap_or_else(|| panic!("{moment}: {listed:?}"));
        let counted = counts(run);
        assert!(counted >= shown.step, "{moment}: {counted} of {}", shown.step);
        assert!(epsilon(&run.card.report) >= epsilon(shown), "{moment}");

        let events = next.ask_and_settle(Request::Continue { key: key.clone() });
        let info = started(&events);
        assert_eq!((info.continues.as_ref(), info.beyond), (Some(&key), run.beyond), "{moment}: {events:?}");
        let report = last(&events).unwrap();
        assert_eq!(report.step, run.card.report.step, "{moment}: parameters are those of the last save");
        assert!(epsilon(&report) >= epsilon(shown), "{moment}");
        assert_eq!(notice(&events).contains("after the last save"), info.beyond > 0, "{moment}: {events:?}");
        assert_eq!(ledger(&mut next).steps(), counted, "{moment}");
        lost_some += u32::from(info.beyond > 0);
        // Further steps are counted on top.
        let on = last(&next.ask_and_settle(Request::StepOnce)).unwrap();
        assert!(epsilon(&on) > epsilon(&report), "{moment}");
        assert_eq!(ledger(&mut next).steps(), counted + 1, "{moment}");
        // The run is not listed twice.
        let (_, events) = visit(&browser);
        let again = kept(&events).into_iter().find(|run| run.key == next.key).map(counts);
        assert_eq!((kept(&events).len(), again), (count, Some(counted + 1)), "{moment}: {events:?}");
    }
    assert!(lost_some > 2, "nothing was cut short within a block");
}

fn begun() -> Option<(Thread, ())> {
    Some((Thread::with_run(endless()), ()))
}

#[test]
fn a_dying_thread_forgets_no_shown_step() {
    no_step_is_forgotten(&MOMENTS, begun, |_, ()| Vec::new());
}

/// What it was writing is written, but the thread is not told.
#[test]
fn a_tab_closed_while_writing_forgets_no_shown_step() {
    no_step_is_forgotten(&MOMENTS, begun, |thread, ()| {
        thread.page.patient.set(true);
        *thread.page.browser.says.borrow_mut() = Says::WritesAndFallsSilent;
        play(thread, 60)
    });
}

#[test]
fn a_store_that_starts_refusing_forgets_no_shown_step() {
    no_step_is_forgotten(&MOMENTS, begun, |thread, ()| {
        *thread.page.browser.says.borrow_mut() = Says::No(StoreError::Refused);
        let events = thread.ask_and_settle(Request::Play);
        let problems = Thread::problems(&events);
        assert!(problems.iter().any(|problem| problem.sentence.contains("books could not be written")), "{problems:?}");
        events
    });
}

#[test]
fn a_second_tab_takes_nothing_from_the_first_and_forgets_no_step_of_its_own() {
    no_step_is_forgotten(&MOMENTS, begun, |thread, ()| {
        let browser = thread.page.browser.clone();
        let (mut other, _) = visit(&browser);
        other.ask_and_settle(Request::Start { config: Box::new(endless()), broken: None });
        let events = [play(&mut other, 60), other.ask_and_settle(Request::Pause)].concat();
        let (shown, own) = (last(&events).unwrap(), other.key.clone());
        let events = other.ask_and_settle(Request::Continue { key: thread.key.clone() });
        assert!(sentence(&events).contains("another tab is using it"), "{events:?}");
        drop(other);
        let (_, events) = visit(&browser);
        let run = kept(&events).into_iter().find(|run| run.key == own).unwrap();
        assert!(counts(run) >= shown.step && epsilon(&run.card.report) >= epsilon(&shown), "{events:?}");
        play(thread, 60)
    });
}

/// It dies after the browser has written a block, before it is told: an unused block counts, too.
#[test]
fn a_thread_that_dies_with_its_first_block_counts_it() {
    let browser = Rc::<Browser>::default();
    let mut thread = Thread::with_run_in(browser.clone(), endless());
    thread.page.patient.set(true);
    *browser.says.borrow_mut() = Says::WritesAndFallsSilent;
    let events = thread.ask_and_settle(Request::Play);
    assert_eq!(last(&events), None, "nothing is released before it is written: {events:?}");
    drop(thread);
    *browser.says.borrow_mut() = Says::Yes;
    let (_, events) = visit(&browser);
    let [run] = kept(&events)[..] else { panic!("{events:?}") };
    assert_eq!(run.card.report.step, 0);
    assert!(run.beyond > 0 && epsilon(&run.card.report) > 0.0, "{run:?}");
}

#[test]
fn a_paused_run_is_counted_exactly() {
    let browser = Rc::<Browser>::default();
    let mut thread = Thread::with_run_in(browser.clone(), endless());
    play(&mut thread, 30);
    let report = Thread::last_report(&thread.ask_and_settle(Request::Pause));
    assert!(report.step > 0);
    let (key, steps) = (thread.key.clone(), report.step);
    assert_eq!(record(&thread, &key).reserved, steps);
    let report = Thread::last_report(&thread.ask_and_settle(Request::StepOnce));
    assert_eq!((report.step, record(&thread, &key).reserved), (steps + 1, steps + 1));
    // A run that is replaced is saved first.
    play(&mut thread, 10);
    let events = thread.ask_and_settle(Request::Reset);
    let file = RunFile::from_json("f", record(&thread, &key).file.as_bytes()).unwrap();
    assert_eq!(record(&thread, &key).reserved, file.run.report.step);
    assert_ne!(started(&events).key, key);
    let events = thread.ask_and_settle(Request::Continue { key });
    assert_eq!((started(&events).beyond, notice(&events)), (0, String::new()));
    assert_eq!(ledger(&mut thread).steps(), file.run.report.step);
    // Its step and cost are reported at once, not with the next measurement.
    let first = events.iter().find_map(|event| if let Event::Report(report, _) = event { Some(report) } else { None });
    let first = first.unwrap();
    assert_eq!((first.step, first.test_accuracy), (file.run.report.step, None));
    assert!(epsilon(first) >= epsilon(&file.run.report));

    // No more is reserved than planned.
    let mut planned = Thread::with_run(short());
    assert!(Thread::last_report(&planned.ask_and_settle(Request::Play)).complete);
    assert_eq!(record(&planned, &planned.key).reserved, 40);
}

#[test]
fn without_storage_a_run_trains_and_the_page_is_told() {
    for (says, why) in [
        (Says::No(StoreError::Refused), "does not let the page store anything"),
        (Says::No(StoreError::Full), "storage for the page is full"),
        (Says::Nothing, "has not answered for 5 seconds"),
    ] {
        let mut thread = Thread::with_run(short());
        *thread.page.browser.says.borrow_mut() = says;
        let events = thread.ask_and_settle(Request::Play);
        let unkept: Vec<_> = events.iter().filter(|e| matches!(e, Event::Unkept(_))).collect();
        let [Event::Unkept(text)] = unkept[..] else { panic!("{events:?}") };
        assert!(text.contains(why) && text.contains("only while the page is open"), "{text}");
        assert_eq!(Thread::last_report(&events).step, 40);
        // It exists as long as the thread lives.
        let key = thread.key.clone();
        thread.ask_and_settle(Request::Reset);
        let events = thread.ask_and_settle(Request::Continue { key: key.clone() });
        assert_eq!(Thread::last_report(&events).step, 40, "{events:?}");
        assert_eq!(ledger(&mut thread).steps(), 40);
        let events = thread.ask_and_settle(Request::ExportRun { key: thread.key.clone() });
        assert!(matches!(&events[..], [Event::RunFile(_)]), "{events:?}");
        // A run that moved is gone under its old key.
        assert_ne!(sentence(&thread.ask_and_settle(Request::Continue { key })), "");
    }
}

#[test]
fn a_store_that_fails_in_mid_run_pauses_it_inside_what_is_written() {
    for says in [Says::No(StoreError::Full), Says::No(StoreError::Refused), Says::Nothing] {
        let mut thread = Thread::with_run(endless());
        play(&mut thread, 10);
        *thread.page.browser.says.borrow_mut() = says;
        let events = thread.settle();
        assert!(events.contains(&Event::Playing(false)), "{events:?}");
        assert!(sentence(&events).contains("books could not be written"), "{events:?}");
        let shown = Thread::last_report(&events);
        assert!(record(&thread, &thread.key).reserved >= shown.step, "{events:?}");
        // Single steps use up what is written, and none goes beyond.
        let written = record(&thread, &thread.key).reserved;
        let refused = (0..=written).find_map(|_| {
            let events = thread.ask_and_settle(Request::StepOnce);
            Some(events).filter(|events| sentence(events).contains("books could not be written"))
        });
        assert!(Thread::last_report(&refused.unwrap()).step <= written);

        *thread.page.browser.says.borrow_mut() = Says::Yes;
        let on = last(&play(&mut thread, 20)).unwrap();
        assert!(on.step > shown.step);
        let end = Thread::last_report(&thread.ask_and_settle(Request::Pause));
        assert_eq!((record(&thread, &thread.key).reserved, ledger(&mut thread).steps()), (end.step, end.step));
    }
}

/// Images were drawn, or features computed, while the store's answer waited: it is not late.
#[test]
fn late_answers_to_a_busy_thread_are_heard() {
    let browser = Rc::<Browser>::default();
    let mut thread = Thread::with_run_in(browser.clone(), endless());
    thread.ask_and_settle(Request::StepOnce);
    drop(thread);
    *browser.says.borrow_mut() = Says::Late;
    let (_, events) = visit(&browser);
    assert!(!events.iter().any(|event| matches!(event, Event::Problem(_))), "{events:?}");
    assert!(events.iter().any(|event| matches!(event, Event::Kept(_))), "{events:?}");
}

#[test]
fn a_store_that_never_answers_gets_a_sentence() {
    let browser = Rc::<Browser>::default();
    let mut thread = Thread::with_run_in(browser.clone(), endless());
    thread.ask_and_settle(Request::StepOnce);
    let key = thread.key.clone();
    drop(thread);
    *browser.says.borrow_mut() = Says::Nothing;
    let (mut thread, events) = visit(&browser);
    assert!(
        sentence(&events).contains("cannot be listed, because this browser's storage has not answered"),
        "{events:?}"
    );
    thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
    for request in
        [Request::Continue { key: key.clone() }, Request::ExportRun { key: key.clone() }, Request::Delete { key }]
    {
        let events = thread.ask_and_settle(request.clone());
        assert!(sentence(&events).contains("has not answered for 5 seconds"), "{request:?}: {events:?}");
        // Pending requests lapse only if the run that was asked for does not come.
        let of_run = matches!(request, Request::Continue { .. });
        assert!(Thread::problems(&events).iter().all(|problem| problem.aside != of_run), "{request:?}: {events:?}");
    }
    // The store answers again, and lists the run.
    *browser.says.borrow_mut() = Says::Yes;
    assert_eq!(kept(&visit(&browser).1).len(), 1);
}

#[test]
fn two_tabs_do_not_continue_one_run() {
    let browser = Rc::<Browser>::default();
    let mut first = Thread::with_run_in(browser.clone(), endless());
    first.ask_and_settle(Request::StepOnce);
    let key = first.key.clone();
    let ((mut one, events), (mut two, _)) = (visit(&browser), visit(&browser));
    // It is open in the first tab.
    assert_eq!(kept(&events).len(), 1);
    let events = one.ask_and_settle(Request::Continue { key: key.clone() });
    assert!(sentence(&events).contains("another tab is using it"), "{events:?}");
    let events = one.ask_and_settle(Request::Delete { key: key.clone() });
    assert!(sentence(&events).contains("could not be deleted: another tab is using it"), "{events:?}");
    assert_eq!(kept(&events).len(), 1, "it stays in the list");
    drop(first);

    assert_eq!(started(&one.ask_and_settle(Request::Continue { key: key.clone() })).continues, Some(key.clone()));
    let events = two.ask_and_settle(Request::Continue { key });
    assert!(sentence(&events).contains("no longer stored"), "{events:?}");

    // In a browser without locks, the books of the first tab's run move to the second, whole.
    let shown = last(&play(&mut one, 30)).unwrap();
    browser.locked.borrow_mut().clear();
    let events = two.ask_and_settle(Request::Continue { key: one.key.clone() });
    assert!(epsilon(&last(&events).unwrap()) >= epsilon(&shown), "{events:?}");
    assert!(ledger(&mut two).steps() >= shown.step);
    let events = one.settle();
    assert!(sentence(&events).contains("deleted or continued in another tab"), "{events:?}");
    let end = Thread::last_report(&events);
    assert!(ledger(&mut two).steps() >= end.step, "what went on meanwhile was reserved before");
    for request in [Request::Play, Request::StepOnce] {
        let events = one.ask_and_settle(request);
        assert!(sentence(&events).contains("is stopped here"), "{events:?}");
        assert!(last(&events).is_none_or(|report| report.step == end.step), "{events:?}");
    }
}

#[test]
fn kept_records_are_recomputed_and_not_trusted() {
    let browser = Rc::<Browser>::default();
    let mut thread = Thread::with_run_in(browser.clone(), endless());
    play(&mut thread, 20);
    let report = Thread::last_report(&thread.ask_and_settle(Request::Pause));
    let key = thread.key.clone();
    drop(thread);
    let whole = record(&visit(&browser).0, &key);

    let stated = serde_json::to_string(&epsilon(&report)).unwrap();
    assert!(whole.entry.card.contains(&stated));
    change(&browser, &key, |record| record.entry.card = record.entry.card.replace(&stated, "0.001"));
    let (_, events) = visit(&browser);
    assert_eq!(epsilon(&kept(&events)[0].card.report), epsilon(&report));

    // Books with less than the file, books of a run without a guarantee, and unreadable ones.
    let none = r#"{"ledger":null,"release":null}"#.to_owned();
    for (books, reserved) in [(whole.books.clone(), 1), (Some(none), whole.reserved), (Some("{".to_owned()), 0)] {
        change(&browser, &key, |record| *record = Record { books: books.clone(), reserved, ..whole.clone() });
        let (mut thread, events) = visit(&browser);
        assert_eq!(kept(&events), Vec::<&KeptRun>::new(), "{books:?}");
        assert!(sentence(&events).contains("changed by hand"), "{events:?}");
        thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
        let events = thread.ask_and_settle(Request::Continue { key: key.clone() });
        assert!(sentence(&events).contains("changed by hand"), "{events:?}");
        let events = thread.ask_and_settle(Request::ExportRun { key: key.clone() });
        assert!(sentence(&events).contains("changed by hand"), "{events:?}");
    }
    // In a record of an older version only the file has a ledger.
    change(&browser, &key, |record| *record = Record { books: None, reserved: 0, ..whole.clone() });
    let (mut thread, events) = visit(&browser);
    assert_eq!(epsilon(&kept(&events)[0].card.report), epsilon(&report));
    thread.ask_and_settle(Request::Continue { key });
    assert_eq!(ledger(&mut thread).steps(), report.step);
}

#[test]
fn runs_are_named_pinned_exported_deleted_and_restored() {
    let browser = Rc::<Browser>::default();
    let mut thread = Thread::with_run_in(browser.clone(), short());
    let label = |name: &str, pinned| Label { name: name.to_owned(), note: "a note".to_owned(), pinned };
    thread.ask_and_settle(Request::Label { key: thread.key.clone(), label: label("first", false) });
    let file = save(&mut thread);
    assert_eq!(record(&thread, &thread.key).entry.name, "first");
    assert_eq!(RunFile::from_json("f", &file).unwrap().run.name, "first");
    let key = thread.key.clone();
    thread.ask_and_settle(Request::Reset);
    thread.ask_and_settle(Request::Label { key: key.clone(), label: label("second", true) });
    let (mut next, events) = visit(&browser);
    let [run] = kept(&events)[..] else { panic!("{events:?}") };
    assert_eq!((run.card.name.as_str(), run.card.note.as_str(), run.pinned), ("second", "a note", true));
    let events = next.ask_and_settle(Request::ExportRun { key: key.clone() });
    let [Event::RunFile(text)] = &events[..] else { panic!("{events:?}") };
    let handed = RunFile::from_json("f", text.as_bytes()).unwrap();
    assert_eq!(handed.run.name, "second");

    assert_eq!(next.ask_and_settle(Request::Delete { key }), []);
    assert!(browser.kept.borrow().keys().is_empty());
    let keep = Request::KeepFile { card: Box::new(handed.run), bytes: text.clone().into_bytes() };
    let events = next.ask_and_settle(keep);
    let [run] = kept(&events)[..] else { panic!("{events:?}") };
    assert!(run.pinned && run.card.note == "from a file", "{run:?}");
    assert_eq!(browser.kept.borrow().keys(), std::slice::from_ref(&run.key));
    let events = next.ask_and_settle(Request::Continue { key: run.key.clone() });
    assert_eq!((last(&events).unwrap().step, ledger(&mut next).steps()), (1, 1));
}

/// WebKit's database is silent while the page is busy: the thread waits longer while steps go on.
#[test]
fn a_store_is_waited_for_longer_while_steps_go_on() {
    let browser = Rc::<Browser>::default();
    let mut thread = Thread::with_run_in(browser.clone(), endless());
    play(&mut thread, 10);
    *browser.says.borrow_mut() = Says::Nothing;
    let events = thread.settle();
    assert!(sentence(&events).contains("has not answered for 30 seconds"), "{events:?}");
}

#[test]
fn a_run_that_never_took_a_step_leaves_no_row() {
    let browser = Rc::<Browser>::default();
    let mut thread = Thread::with_run_in(browser.clone(), endless());
    thread.page.patient.set(true);
    *browser.says.borrow_mut() = Says::WritesAndFallsSilent;
    thread.ask_and_settle(Request::Play);
    assert_eq!(browser.kept.borrow().keys().len(), 1);
    drop(thread);
    // A thread that continues does not leave it behind.
    *browser.says.borrow_mut() = Says::Yes;
    let mut thread = Thread::with_run_in(browser.clone(), endless());
    let before = browser.kept.borrow().keys().len();
    thread.ask(Request::Play);
    thread.ask(Request::Pause);
    thread.settle();
    thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
    assert_eq!(browser.kept.borrow().keys().len(), before);
}

/// An embedded page keeps nothing, and shows no message about it.
#[test]
fn a_page_that_keeps_no_runs_writes_nothing() {
    let mut thread = Thread::new(Vec::new());
    thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: false, lots: true });
    thread.load(DataRequest::Synthetic { seed: 1, train: 600, test: 700 });
    thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
    let events = thread.ask_and_settle(Request::Play);
    assert_eq!(Thread::last_report(&events).step, 40);
    assert!(!events.iter().any(|e| matches!(e, Event::Unkept(_))), "{events:?}");
    assert_eq!(thread.page.browser.writes.get(), 0);
}

/// A write is a number in its own transaction, about a millisecond in a browser; blocks have more
/// steps than the first, or as few only if steps take long.
#[test]
fn writing_ahead_is_rare() {
    let mut thread = Thread::with_run(RunConfig { steps: Some(3000), ..short() });
    let events = thread.ask_and_settle(Request::Play);
    assert!(Thread::last_report(&events).complete);
    let writes = thread.page.browser.writes.get();
    assert!(writes <= 3000 / 16, "{writes}");
}

/// The last report on all runs on the digits.
fn together(events: &[Event]) -> String {
    let said = events.iter().rev().find_map(|e| if let Event::Together(said) = e { Some(said.clone()) } else { None });
    match said.unwrap_or_else(|| panic!("nothing was added up: {events:?}")) {
        Ok(remembered) => match Accounts::default().answer(Question::Together(remembered)) {
            Answer::Together(sentence) => sentence.to_string(),
            other => panic!("{other:?}"),
        },
        Err(sentence) => sentence.to_string(),
    }
}

/// The ledgers that were added up: of the steps so far, and of all planned ones.
fn ledgers(events: &[Event]) -> [&[Option<String>]; 2] {
    let said = events
        .iter()
        .rev()
        .find_map(|e| if let Event::Together(Ok(all)) = e { Some([&all.so_far[..], &all.planned[..]]) } else { None });
    said.unwrap_or_else(|| panic!("nothing was added up: {events:?}"))
}

/// The ε in `sentence`.
fn total(sentence: &str) -> f64 {
    let number = sentence.split("ε ≤ ").nth(1).and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{sentence}"))
}

#[test]
fn runs_on_the_same_digits_add_up_also_those_that_are_deleted_until_they_are_forgotten() {
    let browser = Rc::<Browser>::default();
    let mut thread = Thread::with_run_in(browser.clone(), endless());
    let step = |thread: &mut Thread| {
        let report = last(&thread.ask_and_settle(Request::StepOnce)).unwrap();
        (report.step, epsilon(&report), thread.ask_and_settle(Request::Reset))
    };
    let (_, one, events) = step(&mut thread);
    assert_eq!(together(&events), "", "one run has its own ε");
    let first = kept(&visit(&browser).1)[0].key.clone();
    let (_, _, events) = step(&mut thread);
    let two = total(&together(&events));
    // Of both by tight accounting: more than of one, and less than twice one by Rényi accounting.
    let tight = Ledger::from_json(ledgers(&events)[0][0].as_ref().unwrap()).unwrap();
    let tight = account(&tight, 1e-5).unwrap().tight.unwrap().value;
    assert!(two > tight && two < 2.0 * one && together(&events).contains("All 2 runs"), "{}", together(&events));
    // A deleted run was seen all the same.
    thread.ask_and_settle(Request::Delete { key: first.clone() });
    let (_, _, events) = step(&mut thread);
    assert!(together(&events).contains("All 3 runs") && total(&together(&events)) > two, "{}", together(&events));
    // Restored, it is as it was and does not count twice; it can be restored once.
    assert!(!kept(&visit(&browser).1).iter().any(|run| run.key == first));
    let events = thread.ask_and_settle(Request::Restore { key: first.clone() });
    assert!(kept(&events).iter().any(|run| run.key == first && run.card.report.step == 1), "{events:?}");
    assert!(kept(&visit(&browser).1).iter().any(|run| run.key == first));
    assert!(sentence(&thread.ask_and_settle(Request::Restore { key: first.clone() })).contains("no longer here"));
    let (mut again, _) = visit(&browser);
    let events = again.ask_and_settle(Request::Start { config: Box::new(endless()), broken: None });
    assert!(together(&events).contains("All 3 runs"), "{}", together(&events));
    // A continued run counts what it adds.
    let third = kept(&visit(&browser).1).last().unwrap().key.clone();
    let events = thread.ask_and_settle(Request::Continue { key: third });
    assert!(together(&events).contains("All 3 runs"), "{}", together(&events));
    // Another visit knows them, and other digits have had no runs.
    let (mut next, _) = visit(&browser);
    let events = next.ask_and_settle(Request::Start { config: Box::new(endless()), broken: None });
    assert!(together(&events).contains("All 3 runs"), "{}", together(&events));
    next.load(DataRequest::Synthetic { seed: 2, train: 600, test: 700 });
    assert_eq!(together(&next.ask_and_settle(Request::Start { config: Box::new(endless()), broken: None })), "");
    // Forgotten runs stay listed, but no longer count.
    let listed = kept(&visit(&browser).1).len();
    let events = thread.ask_and_settle(Request::Forget);
    assert_eq!(together(&events), "");
    assert_eq!(kept(&visit(&browser).1).len(), listed);
    let (_, _, events) = step(&mut thread);
    assert_eq!(together(&events), "", "the run that stood then still counts, alone");
    // A run open in another tab stays in its books, and counts here.
    let (mut beside, _) = visit(&browser);
    beside.ask_and_settle(Request::Start { config: Box::new(endless()), broken: None });
    beside.ask_and_settle(Request::StepOnce);
    thread.ask_and_settle(Request::StepOnce);
    let events = thread.ask_and_settle(Request::Forget);
    assert!(sentence(&events).contains("1 of the earlier runs still count, because another tab"), "{events:?}");
    assert_eq!(ledgers(&events)[0].len(), 2);
    beside.ask_and_settle(Request::StepOnce);
    assert!(together(&beside.ask_and_settle(Request::Reset)).contains("All 2 runs"));
    drop(beside);
    assert_eq!(ledgers(&thread.ask_and_settle(Request::Forget))[0].len(), 1, "its own");
    // A run that stops early is first priced with its whole plan.
    thread.ask_and_settle(Request::Start { config: Box::new(short()), broken: None });
    thread.ask_and_settle(Request::StepOnce);
    let events = thread.ask_and_settle(Request::Reset);
    let steps = |ledger: &Option<String>| Ledger::from_json(ledger.as_ref().unwrap()).unwrap().steps();
    assert_eq!(ledgers(&events).map(|all| steps(all.last().unwrap())), [1, 40]);
    let said = together(&events);
    assert!(said.contains("for the steps so far. No number of steps was planned for 1 of them"), "{said}");
    thread.ask_and_settle(Request::Forget);
    thread.ask_and_settle(Request::StepOnce);
    thread.ask_and_settle(Request::Reset);
    thread.ask_and_settle(Request::StepOnce);
    let said = together(&thread.ask_and_settle(Request::Reset));
    assert!(said.contains(" for all planned steps, no matter when a run stops; ε ≤ "), "{said}");
    // One without a guarantee leaves all without.
    let mut open = endless();
    open.noise = None;
    thread.ask_and_settle(Request::Start { config: Box::new(open), broken: None });
    thread.ask_and_settle(Request::StepOnce);
    let events = thread.ask_and_settle(Request::Reset);
    assert!(together(&events).contains("no guarantee, as 1 of them had none"), "{}", together(&events));
}
