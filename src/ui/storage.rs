//! The browser's own database: what the page keeps for its next visit. One entry a run, and its file beside it.

use js_sys::{Array, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_futures::JsFuture;
use web_sys::{DomException, IdbDatabase, IdbFactory, IdbObjectStore, IdbRequest, IdbTransaction, IdbTransactionMode};

const NAME: &str = "hushgrad";
/// Key → name, what changed, pinned, card.
const RUNS: &str = "runs";
/// Key → run file.
const FILES: &str = "files";

/// A run as the list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Ascending by time.
    pub key: String,
    pub name: String,
    pub note: String,
    pub pinned: bool,
    /// A run card as JSON.
    pub card: String,
}

/// Why nothing is kept, as a sentence.
pub fn reason(error: &JsValue) -> String {
    let full = error.dyn_ref::<DomException>().is_some_and(|error| error.name() == "QuotaExceededError");
    if full {
        "This browser's storage for the page is full: this run is kept only as long as the page is open. Delete runs that you no longer need, or save this one as a file."
    } else {
        "This browser does not let the page keep anything (in a private window, perhaps): runs stay as long as the page is open. Save as a file what you want to keep."
    }
    .to_owned()
}

/// All that is kept, oldest first.
pub async fn all() -> Result<Vec<Entry>, JsValue> {
    let change = Change::begin(IdbTransactionMode::Readonly).await?;
    let (keys, values) = (change.runs.get_all_keys()?, change.runs.get_all()?);
    let (keys, values): (Array, Array) = (done(&keys).await?.unchecked_into(), done(&values).await?.unchecked_into());
    let text = |value: &Array, i: u32| value.get(i).as_string().unwrap_or_default();
    let entry = |(key, value): (JsValue, JsValue)| {
        let value: Array = value.dyn_into().ok()?;
        Some(Entry {
            key: key.as_string()?,
            name: text(&value, 0),
            note: text(&value, 1),
            pinned: value.get(2).is_truthy(),
            card: text(&value, 3),
        })
    };
    Ok(keys.iter().zip(values.iter()).filter_map(entry).collect())
}

/// Keeps a run; in place of what its key held before.
pub async fn put(entry: &Entry, file: &str) -> Result<(), JsValue> {
    let change = Change::begin(IdbTransactionMode::Readwrite).await?;
    let key = JsValue::from_str(&entry.key);
    change.runs.put_with_key(&value(entry), &key)?;
    change.files.put_with_key(&file.into(), &key)?;
    change.end().await
}

/// Names or pins a run that is kept; one that is not stays unkept.
pub async fn label(key: &str, name: &str, pinned: bool) -> Result<(), JsValue> {
    let change = Change::begin(IdbTransactionMode::Readwrite).await?;
    let key = JsValue::from_str(key);
    if let Ok(value) = done(&change.runs.get(&key)?).await?.dyn_into::<Array>() {
        value.set(0, name.into());
        value.set(2, pinned.into());
        change.runs.put_with_key(&value, &key)?;
    }
    change.end().await
}

/// A run's file.
pub async fn file(key: &str) -> Result<Option<String>, JsValue> {
    let change = Change::begin(IdbTransactionMode::Readonly).await?;
    Ok(done(&change.files.get(&key.into())?).await?.as_string())
}

pub async fn remove(key: &str) -> Result<(), JsValue> {
    let change = Change::begin(IdbTransactionMode::Readwrite).await?;
    change.runs.delete(&key.into())?;
    change.files.delete(&key.into())?;
    change.end().await
}

fn value(entry: &Entry) -> Array {
    Array::of4(
        &entry.name.as_str().into(),
        &entry.note.as_str().into(),
        &entry.pinned.into(),
        &entry.card.as_str().into(),
    )
}

/// A transaction over both stores.
struct Change {
    transaction: IdbTransaction,
    runs: IdbObjectStore,
    files: IdbObjectStore,
}

impl Change {
    async fn begin(mode: IdbTransactionMode) -> Result<Self, JsValue> {
        let stores = Array::of2(&RUNS.into(), &FILES.into());
        let transaction = open().await?.transaction_with_str_sequence_and_mode(&stores, mode)?;
        let (runs, files) = (transaction.object_store(RUNS)?, transaction.object_store(FILES)?);
        Ok(Self { transaction, runs, files })
    }

    /// Waits until it is written: a full disk is told only here.
    async fn end(self) -> Result<(), JsValue> {
        let promise = Promise::new(&mut |written, refused| {
            self.transaction.set_oncomplete(Some(&written));
            self.transaction.set_onabort(Some(&refused));
        });
        match JsFuture::from(promise).await {
            Ok(_) => Ok(()),
            Err(_) => Err(self.transaction.error().map_or(JsValue::NULL, Into::into)),
        }
    }
}

async fn open() -> Result<IdbDatabase, JsValue> {
    // Not there, or refused, in some private windows.
    let factory: IdbFactory = Reflect::get(&js_sys::global(), &"indexedDB".into())?.dyn_into()?;
    let request = factory.open_with_u32(NAME, 1)?;
    let upgraded: IdbRequest = request.clone().unchecked_into();
    let make = Closure::once_into_js(move || {
        if let Ok(database) = upgraded.result().map(JsCast::unchecked_into::<IdbDatabase>) {
            for store in [RUNS, FILES] {
                // A new database has no stores that could be in the way.
                drop(database.create_object_store(store));
            }
        }
    });
    request.set_onupgradeneeded(Some(make.unchecked_ref()));
    Ok(done(&request).await?.unchecked_into())
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
