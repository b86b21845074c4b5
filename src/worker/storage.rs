//! The run store in the browser's database. Its name contains the site's path, so that sites of one
//! origin do not share it; what an older version kept under one name is moved once.

use std::{cell::RefCell, collections::BTreeMap};

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_futures::JsFuture;
use web_sys::{DomException, IdbDatabase, IdbFactory, IdbObjectStore, IdbOpenDbRequest, IdbRequest, IdbTransaction};

use super::run_store::{Change, Entry, Record, StoreError, StoredBooks, forgotten};

/// The database's name in older versions; now the site's path follows it.
const NAME: &str = "hushgrad";
/// Key → name, note, pinned, card.
const RUNS: &str = "runs";
/// Key → run file.
const FILES: &str = "files";
/// Key → books.
const BOOKS: &str = "books";
/// Key → releases counted as spent since the books were opened.
const AHEAD: &str = "ahead";
const STORES: [&str; 4] = [RUNS, FILES, BOOKS, AHEAD];

/// The database, opened at first use.
#[derive(Default)]
pub struct Database {
    open: RefCell<Option<IdbDatabase>>,
}

/// A Web Lock, held until dropped. `None` if the browser has no locks.
pub struct Lock(Option<Function>);

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(release) = &self.0 {
            // The function resolves our own promise, which cannot fail.
            drop(release.call0(&JsValue::NULL));
        }
    }
}

impl Database {
    pub async fn keys(&self) -> Result<Vec<String>, StoreError> {
        let keys = async {
            let change = self.begin("readonly").await?;
            let keys: Array = done(&change.store(RUNS)?.get_all_keys()?).await?.unchecked_into();
            change.end().await?;
            Ok(keys.iter().filter_map(|key| key.as_string()).collect())
        };
        self.judge(keys.await)
    }

    pub async fn read(&self, key: &str) -> Result<Option<Record>, StoreError> {
        let record = async {
            let change = self.begin("readonly").await?;
            let record = record(&change, key).await?;
            change.end().await?;
            Ok(record)
        };
        self.judge(record.await)
    }

    pub async fn spent(&self) -> Result<Vec<StoredBooks>, StoreError> {
        let spent = async {
            let change = self.begin("readonly").await?;
            let all = async |store: &str| -> Result<[Array; 2], Fault> {
                let store = change.store(store)?;
                let (keys, values) = (store.get_all_keys()?, store.get_all()?);
                Ok([done(&keys).await?.unchecked_into(), done(&values).await?.unchecked_into()])
            };
            let ([keys, books], [of, counts]) = (all(BOOKS).await?, all(AHEAD).await?);
            change.end().await?;
            let reserved: BTreeMap<String, u64> = of
                .iter()
                .zip(counts.iter())
                .filter_map(|(key, value)| Some((key.as_string()?, count(&value))))
                .collect();
            Ok(keys
                .iter()
                .zip(books.iter())
                .filter_map(|(key, books)| {
                    let key = key.as_string()?;
                    let reserved = reserved.get(&key).copied().unwrap_or(0);
                    Some(StoredBooks { key, books: books.as_string()?, reserved })
                })
                .collect())
        };
        self.judge(spent.await)
    }

    pub async fn write(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let written = async {
            let transaction = self.begin("readwrite").await?;
            for change in changes {
                make(&transaction, change).await?;
            }
            transaction.end().await
        };
        self.judge(written.await)
    }

    /// Takes the lock named by the database and the run's key.
    pub async fn lock(&self, key: &str) -> Result<Lock, StoreError> {
        let Some(locks) = locks() else { return Ok(Lock(None)) };
        let (granted, answer) = pair();
        let refused = granted.clone();
        let held = Closure::once_into_js(move |lock: JsValue| {
            let (release, end) = pair();
            let release = if lock.is_null() { JsValue::NULL } else { release.into() };
            // If the caller has gone, only the end of the thread releases it.
            drop(granted.call1(&JsValue::NULL, &release));
            if release.is_null() { JsValue::UNDEFINED } else { end.into() }
        });
        let options = Object::new();
        let ask = || -> Result<(), JsValue> {
            Reflect::set(&options, &"ifAvailable".into(), &true.into())?;
            let request: Function = Reflect::get(&locks, &"request".into())?.dyn_into()?;
            let asked = request.call3(&locks, &format!("{}/{key}", name()).into(), &options, &held)?;
            let catch: Function = Reflect::get(&asked, &"catch".into())?.dyn_into()?;
            catch.call1(&asked, &Closure::once_into_js(move |_: JsValue| drop(refused.call0(&JsValue::NULL))))?;
            Ok(())
        };
        // A frame that may not lock goes on without: its books still move whole.
        if ask().is_err() {
            return Ok(Lock(None));
        }
        match JsFuture::from(answer).await {
            Ok(answer) if answer.is_null() => Err(StoreError::Busy),
            answer => Ok(Lock(answer.ok().and_then(|release| release.dyn_into().ok()))),
        }
    }

    async fn begin(&self, mode: &str) -> Result<Transaction, Fault> {
        let open = self.open.borrow().clone();
        let database = match open {
            Some(database) => database,
            None => {
                let database = open_database(&name()).await?;
                move_older(&database).await;
                self.open.borrow_mut().insert(database).clone()
            }
        };
        Transaction::new(&database, mode)
    }

    /// Converts a fault. The database is then reopened, as it may have been closed from outside.
    fn judge<T>(&self, done: Result<T, Fault>) -> Result<T, StoreError> {
        done.map_err(|fault| {
            if let Fault::Told(error) = fault {
                return error;
            }
            *self.open.borrow_mut() = None;
            let full = matches!(&fault, Fault::Thrown(error) if error.dyn_ref::<DomException>().is_some_and(|error| error.name() == "QuotaExceededError"));
            if full { StoreError::Full } else { StoreError::Refused }
        })
    }
}

/// What went wrong in a transaction: an error of the store, or what the browser threw.
enum Fault {
    Told(StoreError),
    Thrown(JsValue),
}

impl From<JsValue> for Fault {
    fn from(thrown: JsValue) -> Self {
        Self::Thrown(thrown)
    }
}

/// A transaction over all stores; dropped before its end, it changes nothing.
struct Transaction {
    inner: IdbTransaction,
    ended: bool,
}

impl Transaction {
    fn new(database: &IdbDatabase, mode: &str) -> Result<Self, Fault> {
        let stores: Array = STORES.iter().map(|store| JsValue::from_str(store)).collect();
        let options = Object::new();
        // With strict durability, a transaction completes only after it is on disk.
        Reflect::set(&options, &"durability".into(), &"strict".into())?;
        let begin: Function = Reflect::get(database, &"transaction".into())?.dyn_into()?;
        let inner = begin.call3(database, &stores, &mode.into(), &options)?.unchecked_into();
        Ok(Self { inner, ended: false })
    }

    fn store(&self, name: &str) -> Result<IdbObjectStore, JsValue> {
        self.inner.object_store(name)
    }

    /// Waits until the transaction is written. A full disk shows only here.
    async fn end(mut self) -> Result<(), Fault> {
        let promise = Promise::new(&mut |written, refused| {
            self.inner.set_oncomplete(Some(&written));
            self.inner.set_onabort(Some(&refused));
        });
        let ended = JsFuture::from(promise).await;
        self.ended = true;
        match ended {
            Ok(_) => Ok(()),
            Err(_) => Err(Fault::Thrown(self.inner.error().map_or(JsValue::NULL, Into::into))),
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.ended {
            self.inner.set_oncomplete(None);
            self.inner.set_onabort(None);
            // Aborting fails only if the transaction has already ended.
            drop(self.inner.abort());
        }
    }
}

async fn record(change: &Transaction, key: &str) -> Result<Option<Record>, Fault> {
    let key = JsValue::from_str(key);
    let get = async |store: &str| done(&change.store(store)?.get(&key)?).await;
    let Ok(entry) = get(RUNS).await?.dyn_into::<Array>() else { return Ok(None) };
    let text = |i: u32| entry.get(i).as_string().unwrap_or_default();
    Ok(Some(Record {
        entry: Entry { name: text(0), note: text(1), pinned: entry.get(2).is_truthy(), card: text(3) },
        file: get(FILES).await?.as_string().unwrap_or_default(),
        books: get(BOOKS).await?.as_string(),
        reserved: count(&get(AHEAD).await?),
    }))
}

fn count(value: &JsValue) -> u64 {
    value.as_f64().map_or(0, |count| count as u64)
}

/// As [`Change::apply`], without reading what a change leaves alone.
async fn make(change: &Transaction, made: Change) -> Result<(), Fault> {
    let key = JsValue::from_str(made.key());
    let put = |store: &str, value: &JsValue| change.store(store)?.put_with_key(value, &key).map(drop);
    let get = async |store: &str| done(&change.store(store)?.get(&key)?).await;
    let gone = Err(Fault::Told(StoreError::Gone));
    match made {
        Change::Begin { record: Record { entry, file, books, reserved }, .. } => {
            put(RUNS, &value(&entry))?;
            put(FILES, &file.into())?;
            if let Some(books) = books {
                put(BOOKS, &books.into())?;
            }
            put(AHEAD, &(reserved as f64).into())?;
        }
        Change::Reserve { count: released, exact, .. } => {
            let before = get(AHEAD).await?;
            if before.is_undefined() {
                return gone;
            }
            let released = if exact { released } else { released.max(count(&before)) };
            put(AHEAD, &(released as f64).into())?;
        }
        Change::Save { entry, file, .. } => {
            if done(&change.store(RUNS)?.get_key(&key)?).await?.is_undefined() {
                return gone;
            }
            put(RUNS, &value(&entry))?;
            put(FILES, &file.into())?;
        }
        Change::Label { name, pinned, .. } => {
            if let Ok(entry) = get(RUNS).await?.dyn_into::<Array>() {
                entry.set(0, name.into());
                entry.set(2, pinned.into());
                put(RUNS, &entry)?;
            }
        }
        Change::Remove { reserved, spent, .. } => {
            if let Some(reserved) = reserved {
                let there = !done(&change.store(RUNS)?.get_key(&key)?).await?.is_undefined();
                if !there || count(&get(AHEAD).await?) != reserved {
                    return gone;
                }
            }
            for store in if spent { &STORES[..2] } else { &STORES[..] } {
                change.store(store)?.delete(&key)?;
            }
            if spent && get(BOOKS).await?.is_undefined() {
                change.store(AHEAD)?.delete(&key)?;
            }
        }
        Change::Forget { .. } => {
            let kept = !done(&change.store(RUNS)?.get_key(&key)?).await?.is_undefined();
            match get(BOOKS).await?.as_string() {
                Some(books) if kept => put(BOOKS, &forgotten(&books).into())?,
                Some(_) => {
                    for store in [BOOKS, AHEAD] {
                        change.store(store)?.delete(&key)?;
                    }
                }
                None => {}
            }
        }
    }
    Ok(())
}

fn value(entry: &Entry) -> Array {
    Array::of4(
        &entry.name.as_str().into(),
        &entry.note.as_str().into(),
        &entry.pinned.into(),
        &entry.card.as_str().into(),
    )
}

/// Returns the database's name; the thread's program lies in the site's own folder.
fn name() -> String {
    let location = Reflect::get(&js_sys::global(), &"location".into()).unwrap_or_default();
    let path = Reflect::get(&location, &"pathname".into()).ok().and_then(|path| path.as_string()).unwrap_or_default();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{NAME}{folder}/")
}

fn factory() -> Result<IdbFactory, JsValue> {
    // Absent or refused in some private windows.
    Reflect::get(&js_sys::global(), &"indexedDB".into())?.dyn_into()
}

async fn open_database(name: &str) -> Result<IdbDatabase, Fault> {
    let request = factory()?.open_with_u32(name, 1)?;
    let upgraded: IdbRequest = request.clone().unchecked_into();
    let make = Closure::once_into_js(move || {
        if let Ok(database) = upgraded.result().map(JsCast::unchecked_into::<IdbDatabase>) {
            for store in STORES {
                // A new database has no conflicting stores.
                drop(database.create_object_store(store));
            }
        }
    });
    request.set_onupgradeneeded(Some(make.unchecked_ref()));
    let database: IdbDatabase = done(&request).await?.unchecked_into();
    // Another tab can delete or upgrade the database without waiting for this thread.
    let closed = database.clone();
    let close = Closure::<dyn FnMut()>::new(move || closed.close());
    database.set_onversionchange(Some(close.as_ref().unchecked_ref()));
    close.forget();
    Ok(database)
}

/// Moves an older version's runs into this database; if that fails, the next visit does.
async fn move_older(to: &IdbDatabase) {
    let moved = async {
        let factory = factory()?;
        let request = factory.open(NAME)?;
        let opened: IdbOpenDbRequest = request.clone();
        // Opening a database that does not exist would create it; aborting prevents that.
        let stop = Closure::once_into_js(move || drop(opened.transaction().map(|made| made.abort())));
        request.set_onupgradeneeded(Some(stop.unchecked_ref()));
        let older: IdbDatabase = done(&request).await?.unchecked_into();
        let stores = Array::of2(&RUNS.into(), &FILES.into());
        let read = older.transaction_with_str_sequence(&stores)?;
        let (runs, files) = (read.object_store(RUNS)?, read.object_store(FILES)?);
        let asked = [runs.get_all_keys()?, runs.get_all()?, files.get_all_keys()?, files.get_all()?];
        let mut found = Vec::new();
        for request in &asked {
            found.push(done(request).await?.unchecked_into::<Array>());
        }
        older.close();
        let write = Transaction::new(to, "readwrite")?;
        for (store, keys, values) in [(RUNS, &found[0], &found[1]), (FILES, &found[2], &found[3])] {
            let store = write.store(store)?;
            for (key, value) in keys.iter().zip(values.iter()) {
                store.put_with_key(&value, &key)?;
            }
        }
        write.end().await?;
        // Nothing depends on the deletion.
        drop(factory.delete_database(NAME)?);
        Ok::<(), Fault>(())
    };
    drop(moved.await);
}

async fn done(request: &IdbRequest) -> Result<JsValue, JsValue> {
    let promise = Promise::new(&mut |ready, refused| {
        request.set_onsuccess(Some(&ready));
        request.set_onerror(Some(&refused));
    });
    match JsFuture::from(promise).await {
        Ok(_) => request.result(),
        Err(_) => Err(request.error().ok().flatten().map_or(JsValue::NULL, Into::into)),
    }
}

/// Returns `navigator.locks`; `None` outside a secure context.
fn locks() -> Option<JsValue> {
    let navigator = Reflect::get(&js_sys::global(), &"navigator".into()).ok()?;
    Reflect::get(&navigator, &"locks".into()).ok().filter(JsValue::is_object)
}

/// Returns a promise, and the function that resolves it.
fn pair() -> (Function, Promise) {
    let mut keep = None;
    let promise = Promise::new(&mut |resolve, _| keep = Some(resolve));
    // The Promise constructor calls its closure at once.
    (keep.unwrap_or_else(|| Function::new_no_args("")), promise)
}
